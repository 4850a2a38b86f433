"""The conditions of `wrap` in a cell, with the environments that may surround a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from steelyard.environments.base import Environment
from steelyard.errors import PlugInError, UnknownName, UsageError
from steelyard.hosts.capturing import WAYS
from steelyard.model.environment import find_form
from steelyard.model.expression import substitute
from steelyard.model.keys.uses import ServiceUse, WorkloadUse
from steelyard.model.keys.wrap import Conditions
from steelyard.model.trial import Scalar
from steelyard.plugins import find, names

CONTAINERS = ("bubblewrap", "podman", "apptainer", "charliecloud", "gvisor")
"""What `container` may be, the first choice first."""

GUESTS = ("uml",)
"""What `guest` may be, likewise."""

_SEVERAL = {"container": CONTAINERS, "guest": GUESTS}
_MADE = "/made"  # what is made of a description is a directory, whose place its host alone knows


def environment_class(name: str) -> type[Environment]:
    """The class of an environment. Raises UnknownName, PlugInError."""
    return find("environments", name, Environment)  # type: ignore[type-abstract]


def read_conditions(use: WorkloadUse | ServiceUse, levels: Mapping[str, Scalar]) -> Conditions:
    """What processes of an entry are put under in a cell. Raises UsageError, ExpressionError."""
    asked = replace(Conditions.of(use.wrap, levels), capture=_read_capture(use, levels))
    if asked.inside is None:
        return asked
    try:
        environments = find_environments(asked.inside, _MADE if asked.recipe else asked.image)
    except (UnknownName, PlugInError) as error:
        known = ", ".join(("host", *_SEVERAL, *sorted(names("environments"))))
        raise UsageError(f"in: {error.message}; there are {known}") from error
    if asked.limits.io_read or asked.limits.io_write:
        environments = tuple(one for one in environments if not one.limits_itself)
        if not environments:
            raise UsageError(f"io_read, io_write: {asked.inside} cannot hold them; use bubblewrap")
    environments = _drop_narrow(environments, asked)
    return replace(asked, environments=_drop_offline(environments, use))


def _read_capture(use: WorkloadUse | ServiceUse, levels: Mapping[str, Scalar]) -> str:
    what = substitute({"capture": use.capture}, levels)["capture"]
    if what not in (None, *WAYS):
        raise UsageError(f"capture: {what!r} cannot be recorded; there are {', '.join(WAYS)}")
    return str(what or "")


def _drop_narrow(environments: tuple[Environment, ...], asked: Conditions) -> tuple[Environment, ...]:
    """Those that have as many cores as are asked for. Raises UsageError when there are none."""
    wanted, key = (asked.cores, "cores") if asked.cores else (len(asked.cpus or ()), "cpus")
    wide = tuple(one for one in environments if one.most_cores is None or one.most_cores >= wanted)
    if not wide:
        most = max(one.most_cores or 0 for one in environments)
        cores = f"{most} core" + "s" * (most != 1)
        raise UsageError(f"{key}: {wanted} are asked for, and {asked.inside} has {cores}")
    return wide


def _drop_offline(
    environments: tuple[Environment, ...], use: WorkloadUse | ServiceUse
) -> tuple[Environment, ...]:
    """Those that have a network, if it takes one. Raises UsageError when there are none."""
    if isinstance(use, WorkloadUse) and not use.to and not use.ranks:
        return environments
    online = tuple(one for one in environments if one.has_network)
    if not online:
        what = "a service" if isinstance(use, ServiceUse) else f"`{'to' if use.to else 'ranks'}`"
        raise UsageError(f"in: {environments[0].name} has no network, which {what} needs; use a container")
    return online


def find_environments(inside: str, image: str | None) -> tuple[Environment, ...]:
    """Those that may be meant by a name, and take an image of that form. Raises UsageError, PlugInError."""
    meant, form = _SEVERAL.get(inside, (inside,)), find_form(image)
    known = [(name, environment_class(name)) for name in meant]
    taking = tuple(kind(name) for name, kind in known if form in kind.images)
    if taking:
        return taking
    forms = sorted({form for _, kind in known for form in kind.images} - {"host"})
    raise UsageError(
        f"in: {inside} needs an image; add `image: …`"
        if image is None
        else f"image: {inside} cannot run {image}, a {form}; it takes a {' or a '.join(forms)}"
    )
