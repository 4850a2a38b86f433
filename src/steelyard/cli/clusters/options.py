"""Options that several actions of `steelyard cluster` share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from steelyard.cli.options import KnownName, site_option, store_option
from steelyard.errors import UsageError
from steelyard.spec.stores import choose_store

Function = TypeVar("Function", bound=Callable[..., Any])
_CLOCK = re.compile(r"(\d{1,4}):([0-5]?\d)(?::([0-5]?\d))?")


class TimeSpan(click.ParamType[float]):
    """A span as schedulers write it, `HH:MM:SS` or `HH:MM`, or with a unit: `90min`. In seconds."""

    name = "HH:MM:SS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it; an error names an example."""
        if isinstance(value, float):
            return value
        from steelyard.errors import UnitError

        try:
            span = _parse_span(value)
        except UnitError:
            self.fail(f"'{value}' is not a time; for example 04:00:00, 0:30 or 90min", param, ctx)
        return span if span > 0 else self.fail("the time must be above zero", param, ctx)


def _parse_span(text: str) -> float:
    from steelyard.units import Duration

    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        return float(Duration.parse(text))
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


class ClusterName(KnownName):
    """A cluster: the name of its job, or the id of its run. Completes from the store."""

    name = "cluster"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Those that live."""
        from steelyard.cluster.clusters import list_clusters

        every = list_clusters(choose_store(ctx.params.get("store")))
        return dict.fromkeys([*(one.name for one in every), *(one.folder.id for one in every)])


class SnapshotName(KnownName):
    """A snapshot. Completes from the place where they lie."""

    name = "snapshot"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Those that are there, the last ones first."""
        from steelyard.cluster.snapshot_catalog import SnapshotCatalog

        place = snapshot_place(ctx.params.get("store"), ctx.params.get("place"))
        return reversed(SnapshotCatalog(place).list_names())


def cluster_argument(function: Function) -> Function:
    """The name of a cluster; nothing where only one lives. `-c` is what some are used to."""
    return click.argument("cluster", type=ClusterName(), required=False)(function)


def place_option(function: Function) -> Function:
    """`--snapshots PLACE`."""
    text = "Snapshot store: a directory that all hosts see, or s3://bucket  [default: STORE/snapshots]"
    return click.option("--snapshots", "place", metavar="PLACE", help=text)(function)


_NODES = (
    (("-nT", "--nodes", "total"), "Total number of nodes  [default: as many as -nC and -nA need, else 4]"),
    (("-nC", "--db-nodes", "database_nodes"), "Database nodes  [default: all, or the remaining ones]"),
    (("-nA", "--app-nodes", "application"), "Application nodes  [default: all, or the remaining ones]"),
)


def node_options(function: Function) -> Function:
    """`-nT`, `-nC`, `-nA`, `--disjoint`."""
    text = "Put database and application on different nodes"
    function = click.option("-d", "--disjoint", is_flag=True, help=text)(function)
    for names, text in reversed(_NODES):
        function = click.option(*names, type=click.IntRange(1), metavar="N", help=text)(function)
    return function


def application_options(function: Function) -> Function:
    """`--appl` and how it is started."""
    texts = (
        (
            ("--pycompss", "pycompss"),
            "FLAGS",
            None,
            "The application uses PyCOMPSs; flags for runcompss, or ''",
        ),
        (
            ("--mpi", "ranks"),
            "N",
            click.IntRange(1),
            "The application uses MPI, with N ranks on each of its nodes",
        ),
        (("-a", "--appl", "line"), "COMMAND", None, "The application, as you would type it in this shell"),
    )
    for names, metavar, kind, text in texts:
        function = click.option(*names, metavar=metavar, type=kind, help=text)(function)
    return function


def job_options(function: Function) -> Function:
    """What the job is called and asks its scheduler for."""
    function = store_option(
        site_option("Where: slurm, local:4, an entry of sites.yaml  [default: local]")(function)
    )
    texts = (
        (
            ("--detach",),
            {"is_flag": True, "help": "Start it and return; `cluster status` shows its state"},
        ),
        (("--account",), {"metavar": "NAME", "help": "Batch sites: the account to charge"}),
        (("--partition",), {"metavar": "NAME", "help": "Batch sites: the queue or partition"}),
        (("-q", "--qos"), {"metavar": "NAME", "help": "Batch sites: the quality of service"}),
        (
            ("-l", "--logs"),
            {"metavar": "DIR", "type": click.Path(file_okay=False), "help": "Link its logs into DIR"},
        ),
        (
            ("-t", "--time", "seconds"),
            {"type": TimeSpan(), "help": "Time limit of the job  [default: 4 hours]"},
        ),
    )
    for names, how in texts:
        function = click.option(*names, **how)(function)
    return function


def database_options(function: Function) -> Function:
    """What is run, what is kept of it, and for how long it stays."""
    own = "A database option, such as heap=2GiB or settings.concurrent_reads=64; repeatable"
    texts: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
        (("--set", "settings"), {"multiple": True, "metavar": "KEY=VALUE", "help": own}),
        (("--database",), {"default": "cassandra", "show_default": True, "help": "The service to run"}),
        (("-f", "--finish"), {"is_flag": True, "help": "Stop when the application ends"}),
        (
            ("--snapshot-always", "always"),
            {"is_flag": True, "help": "Take a snapshot even if the application fails"},
        ),
        (("-s", "--snapshot"), {"is_flag": True, "help": "Take a snapshot at the end if all went well"}),
        (("-j", "--jobname", "name"), {"default": "cluster", "show_default": True, "help": "Cluster name"}),
    )
    for names, how in texts:
        function = click.option(*names, **how)(function)
    return place_option(function)


def snapshot_place(store: str | None, place: str | None) -> str:
    """Where snapshots lie, absolute, since hosts are asked for it, too."""
    if place and place.startswith("s3://"):
        return place
    return str(Path(place or choose_store(store).snapshots).absolute())


def parse_settings(pairs: Sequence[str]) -> Mapping[str, Any]:
    """The tree of `--set a.b=1 --set heap=2GiB`; values are read as in a file. Raises UsageError."""
    from steelyard.spec.yaml.source import read

    tree: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        path = key.strip().split(".")
        if not equals or not all(path):
            raise UsageError(f"--set {pair:.60}: write KEY=VALUE, such as heap=2GiB")
        branch = _enter_branch(tree, path[:-1], pair)
        branch[path[-1]] = read(f"value: {text}", f"--set {key}").value["value"]
    return tree


def _enter_branch(tree: dict[str, Any], path: Sequence[str], pair: str) -> dict[str, Any]:
    """The branch at a path, made where it is missing. Raises UsageError where a value is in the way."""
    for part in path:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise UsageError(f"--set {pair:.60}: '{part}' already has a value")
    return tree
