"""A kubeconfig: which cluster is meant, and who we are there; read as kubectl reads it.

KUBECONFIG may list several files, of which the first to name a thing wins. Paths in a file begin in its
directory. Source: kubernetes.io, "Organizing Cluster Access Using kubeconfig Files", and client-go's API v1.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from steelyard.errors import UsageError
from steelyard.printable import make_one_line
from steelyard.trust import check_ownership
from steelyard.untrusted import read_content

VARIABLE = "KUBECONFIG"
DEFAULT = "~/.kube/config"
_MOST_BYTES = 4 << 20
_HINT = "`kubectl config get-contexts` lists what there is; `kubeconfig` and `context` of the site choose"


class _Entry(BaseModel):
    """Keys are written with dashes. What we do not know is passed over, as kubectl does."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=True,
    )


class ClusterEntry(_Entry):
    """Where an API server is, and how to know that it is the right one."""

    server: str = Field(pattern=r"^https?://[^\s]+$")
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None


class PluginVariable(_Entry):
    """A variable that an exec plug-in gets."""

    name: str
    value: str


class ExecPlugin(BaseModel):
    """A program that prints credentials: `ExecCredential` of client.authentication.k8s.io."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    api_version: str = Field(alias="apiVersion")
    command: str = Field(min_length=1)
    args: tuple[str, ...] | None = None
    env: tuple[PluginVariable, ...] | None = None
    install_hint: str = Field("", alias="installHint")
    provide_cluster_info: bool = Field(False, alias="provideClusterInfo")
    interactive_mode: str = Field("IfAvailable", alias="interactiveMode")


class UserEntry(_Entry):
    """Who we are. Kinds that kubectl no longer has, or that we do not, are refused by name."""

    token: SecretStr | None = None
    token_file: str | None = Field(None, alias="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: SecretStr | None = None
    username: str | None = None
    password: SecretStr | None = None
    exec: ExecPlugin | None = None
    auth_provider: dict[str, Any] | None = None
    impersonate: str | None = Field(None, alias="as")


class ContextEntry(_Entry):
    """A cluster and a user, by name."""

    cluster: str
    user: str = ""
    namespace: str = "default"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """What one context says. `folder` is where the paths of its user begin; `authority` is PEM."""

    context: str
    namespace: str
    cluster: ClusterEntry
    user: UserEntry = field(repr=False)
    folder: Path
    authority: str | None = field(default=None, repr=False)

    @property
    def server(self) -> str:
        """The address of the API server, without a slash at its end."""
        return self.cluster.server.rstrip("/")

    def __str__(self) -> str:
        return f"the API server {self.server}"


ModelT = TypeVar("ModelT", bound=BaseModel)


def read_access(path: str | None = None, context: str | None = None) -> ClusterAccess:
    """What a context says, the current one by default. Raises UsageError, without anything secret in it."""
    files = [(place, _load(place)) for place in find_kubeconfigs(path)]
    name = context or next(
        (str(text["current-context"]) for _, text in files if text.get("current-context")), ""
    )
    if not name:
        raise UsageError("the kubeconfig has no current context", hint=_HINT)
    chosen, _ = _find(files, "context", name, ContextEntry)
    cluster, place = _find(files, "cluster", chosen.cluster, ClusterEntry)
    user, folder = _find(files, "user", chosen.user, UserEntry) if chosen.user else (UserEntry(), place)
    _refuse_unsupported(chosen.user, user)
    authority = decode_or_read(
        cluster.certificate_authority_data, cluster.certificate_authority, place, "certificate-authority"
    )
    return ClusterAccess(name, chosen.namespace, cluster, user, folder, authority)


def decode_or_read(data: str | None, path: str | None, folder: Path, what: str) -> str | None:
    """PEM that stands in the file in base64, or in a file of its own. Raises UsageError."""
    try:
        if data:
            return base64.b64decode(data, validate=True).decode("ascii")
        return (folder / Path(path).expanduser()).read_text("ascii") if path else None
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{what} of the kubeconfig is not PEM") from error
    except OSError as error:
        raise UsageError(f"{what} {path} of the kubeconfig cannot be read: {error.strerror}") from error


def find_kubeconfigs(path: str | None) -> list[Path]:
    """The files that are there, of one path or of several, as KUBECONFIG has them. Raises UsageError."""
    listed = path or os.environ.get(VARIABLE) or DEFAULT
    names = [Path(each) for each in listed.split(os.pathsep) if each]
    there = [each for each in (name.expanduser() for name in names) if each.is_file()]
    if not there:
        hint = f"{_HINT}; without them it is {VARIABLE}, or {DEFAULT}"
        raise UsageError(f"there is no kubeconfig at {listed}", hint=hint)
    return there


def _load(path: Path) -> Mapping[str, Any]:
    """A file. It names programs that are run, so nobody else may be able to write it. Raises UsageError."""
    check_ownership(path, "the kubeconfig")
    try:
        tree = YAML(typ="safe", pure=True).load(read_content(path.resolve(), _MOST_BYTES))
    except OSError as error:
        raise UsageError(f"the kubeconfig {path} cannot be read: {error.strerror or error}") from error
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise UsageError(f"the kubeconfig {path}{f':{mark.line + 1}' if mark else ''} is not YAML") from error
    if not isinstance(tree, dict):
        raise UsageError(f"the kubeconfig {path} is not a mapping")
    return tree


def _find(
    files: Sequence[tuple[Path, Mapping[str, Any]]], kind: str, name: str, model: type[ModelT]
) -> tuple[ModelT, Path]:
    """An entry by its name, and the directory of its file."""
    known = []
    for path, tree in files:
        for entry in _entries(tree, kind):
            if entry.get("name") == name:
                return _validate(
                    entry.get(kind), model, f"{kind} {name} of the kubeconfig {path}"
                ), path.parent
            known.append(str(entry.get("name")))
    there = ", ".join(known) or "none"
    raise UsageError(make_one_line(f"the kubeconfig has no {kind} '{name}'; it has {there}"), hint=_HINT)


def _entries(tree: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    listed = tree.get(f"{kind}s")
    yield from (each for each in listed if isinstance(each, dict)) if isinstance(listed, list) else ()


def _validate(given: Any, model: type[ModelT], what: str) -> ModelT:
    try:
        return model.model_validate(given or {})
    except ValidationError as error:  # its own text would show what was given, which may be secret
        faults = sorted({".".join(map(str, each["loc"])) for each in error.errors(include_input=False)})
        raise UsageError(f"{what}: {', '.join(faults)} is missing or malformed") from None


def _refuse_unsupported(name: str, user: UserEntry) -> None:
    if user.auth_provider is not None:
        hint = "kubectl 1.26 dropped it, too; use the exec plug-in of your provider"
        raise UsageError(f"user {name} of the kubeconfig uses an auth-provider", hint=hint)
    if user.impersonate is not None:
        hint = "give the site a context of the account itself"
        raise UsageError(f"user {name} of the kubeconfig impersonates another (`as`)", hint=hint)
