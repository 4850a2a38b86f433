"""A database that runs as a job, beside an application or alone: its nodes, and the experiment that it is.

`steelyard cluster run` composes an ordinary experiment, so that submission, the job, the record and the log
are those of every run. All of this is pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.controller.activity import CLUSTER_TAG
from steelyard.errors import UsageError

DEFAULT_NODES = 4
SERVICE = "ring"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Nodes of a job: in all, of the database, of the application (0 without one)."""

    total: int
    database: int
    application: int = 0
    disjoint: bool = False

    @property
    def used_nodes(self) -> int:
        """Nodes on which something runs."""
        both = self.database, self.application
        return sum(both) if self.disjoint else max(both)

    @property
    def idle_nodes(self) -> int:
        """Nodes that stay unused."""
        return self.total - self.used_nodes

    @property
    def roles(self) -> dict[str, Any]:
        """As an experiment names them: the smaller of two that share has the first hosts of the larger."""
        hosts_by_role: dict[str, Any] = {"db": self.database}
        if self.application and self.disjoint:
            hosts_by_role["app"] = self.application
        elif self.application > self.database:
            hosts_by_role = {"app": self.application, "db": {"hosts": self.database, "shares": "app"}}
        elif self.application:
            hosts_by_role["app"] = {"hosts": self.application, "shares": "db"}
        return hosts_by_role | ({"idle": self.idle_nodes} if self.idle_nodes else {})


def resolve_sizes(
    total: int | None,
    database: int | None,
    application: int | None,
    *,
    disjoint: bool = False,
    runs_application: bool = True,
    default: int = DEFAULT_NODES,
) -> Sizes:
    """What is meant by -nT, -nC, -nA and --disjoint; what is not given is None.

    Without an application, its nodes and `disjoint` mean nothing. `default` is the total where no number
    tells it. Raises UsageError that names all numbers when the total is too small.
    """
    if not runs_application:
        whole = total or database or default
        return _check_sizes(Sizes(whole, database or whole))
    if not disjoint:
        whole = total or max(database or 0, application or 0) or default
        return _check_sizes(Sizes(whole, database or whole, application or whole))
    given = database is not None and application is not None
    whole = total or ((database or 0) + (application or 0) if given else default)
    app = application or (whole - database if database else whole // 2)
    return _check_sizes(Sizes(whole, database or whole - app, app, disjoint=True))


def _check_sizes(found: Sizes) -> Sizes:
    numbers = (found.database, found.application) if found.disjoint else (found.database,)
    if found.idle_nodes >= 0 and min(numbers) >= 1:
        return found
    least = max(1, found.database) + max(1, found.application) if found.disjoint else found.used_nodes
    app = f" and {found.application} application nodes" if found.disjoint or found.application else ""
    apart = ", disjoint," if found.disjoint else ""
    raise UsageError(
        f"-nT {found.total} is too few for {found.database} database nodes{app}{apart}: "
        f"at least {least} are needed",
        hint="raise -nT, or lower -nC or -nA; omitted counts adapt to the others",
    )


@dataclass(frozen=True, slots=True)
class Application:
    """What runs beside the database: a command line as it was typed, in the directory where it was typed, or
    None where its nodes do not have that.

    `ranks`: of an MPI program, on each node of the application. `pycompss`: flags for runcompss; None where
    it is not started by that.
    """

    line: str
    directory: str | None
    ranks: int | None = None
    pycompss: str | None = None

    def workload(self) -> dict[str, Any]:
        """The workload entry. Raises UsageError for a line that cannot be split into words."""
        common = {
            "run": split_words(self.line, "--appl"),
            "to": SERVICE,
            **({"cwd": escape_template(self.directory)} if self.directory else {}),
        }
        if self.pycompss is not None:
            if self.ranks is not None:
                raise UsageError("--mpi and --pycompss both define how the application starts; give only one")
            flags = split_words(self.pycompss, "--pycompss") if self.pycompss.strip() else []
            return {"use": "pycompss", "on": "app", **common, "flags": flags}
        if self.ranks is not None:
            return {"use": "command", "on": "app", "ranks": self.ranks, **common}
        return {"use": "command", "on": "app[0]", **common}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A database as a job. `options` are the service's own; `recover` and `save` as in `ServiceUse`."""

    name: str
    sizes: Sizes
    application: Application | None = None
    database: str = "cassandra"
    options: Mapping[str, Any] = field(default_factory=dict)
    recover: Mapping[str, str] | None = None
    save: Mapping[str, str] | None = None
    hold: bool = True

    def tree(self) -> dict[str, Any]:
        """The experiment, as a file would say it. Raises UsageError."""
        services = {SERVICE: self._service()}
        workload = self.application.workload() if self.application else {"use": "command", "run": ["true"]}
        return {
            **_common_keys(self.name, self._description()),
            "roles": self.sizes.roles,
            "services": services,
            "workload": {"on": "db[0]", **workload},
            "hold": self.hold,
            "tags": {CLUSTER_TAG: self.name},
        }

    def _service(self) -> dict[str, Any]:
        """The service entry. Raises UsageError for an option that is not the database's."""
        own: dict[str, Any] = {"use": self.database, "on": "db", "keep": "run"}
        if taken := [key for key in (*own, "grow_into", "recover", "save") if key in self.options]:
            raise UsageError(f"--set {taken[0]}: this is an option of the cluster, not of its database")
        own |= {key: dict(value) for key in ("recover", "save") if (value := getattr(self, key))}
        return {**self.options, **own}

    def _description(self) -> str:
        origin = f", with the data of snapshot {self.recover['snapshot']}" if self.recover else ""
        usage = f", used by: {escape_template(self.application.line)}" if self.application else ""
        return f"{self.database} on {self.sizes.database} nodes{origin}{usage}"


def build_attach_tree(name: str, control: str, nodes: int, application: Application) -> dict[str, Any]:
    """The experiment of an application that joins a cluster which another run holds.

    `control` is the path of the file in which that run says where its service is.
    """
    return {
        **_common_keys(f"{name[:50]}-attach", f"joins {name}: {escape_template(application.line)}"),
        "roles": {"app": nodes},
        "services": {SERVICE: {"use": "attached", "on": "app[0]", "control": escape_template(control)}},
        "workload": application.workload(),
    }


def _common_keys(name: str, about: str) -> dict[str, Any]:
    return {
        "experiment": name,
        "about": about,
        "start": {"together": False},
        "repeat": 1,
        "disturbed": "include",
    }


def split_words(line: str, option: str) -> list[str]:
    """The words of a command line, as a shell would split it. Raises UsageError."""
    try:
        parts = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{option}: '{line:.80}' cannot be split into words: {error}") from error
    if not parts:
        raise UsageError(f"{option}: '{line:.80}' contains no command")
    return [escape_template(word) for word in parts]


def escape_template(text: str) -> str:
    """A text for an experiment file in which `${` means nothing."""
    return text.replace("${", "$${")
