"""Who does what where in an experiment: workloads, services, roles, how copies start, what hosts cost."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, StrictBool, StrictInt

from steelyard.model.keys.machine import ALLOWED, MachineSettings
from steelyard.model.keys.plugin_use import PlugInUse
from steelyard.model.keys.roles import DEFAULT_ROLE
from steelyard.model.keys.wrap import Wrap
from steelyard.model.part import Part
from steelyard.units import Duration


def widen_workload(value: object) -> object:
    """Options stand beside Steelyard's own keys in the file; they are parted here."""
    if not isinstance(value, dict) or "options" in value:
        return value
    keys = (
        "use",
        "phase",
        "measured",
        "timeout",
        "on",
        "to",
        "copies",
        "ranks",
        "launcher",
        "wrap",
        "capture",
    )
    own = {key: value[key] for key in keys if key in value}
    rest = {key: item for key, item in value.items() if key not in own}
    return {**own, "options": rest}


class WrappedUse(PlugInUse):
    """What runs processes under conditions: its own, or those of its role, which its own go before."""

    own_wrap: Wrap | None = None
    capture: str | None = Field(
        None,
        description="Record the storage calls of its processes, to be read by `steelyard trace show`: `io`"
        " by a library; `fuse` by a file system between them and their directories, also of static programs;"
        " `fuse-cached` likewise, with the kernel's cache left on",
    )
    _role_wrap: Wrap | None = PrivateAttr(None)
    _machine: MachineSettings | None = PrivateAttr(None)

    def learn_role(self, role: Role | None) -> None:
        """Take note of the conditions of the role that it runs on."""
        self._role_wrap, self._machine = (role.wrap, role.machine) if role else (None, None)

    @property
    def conditions(self) -> dict[str, Any]:
        """Its keys for how its processes run, which may hold `${…}`."""
        capture = {"capture": self.capture} if self.capture else {}
        return ({"wrap": self.wrap.settings()} if self.wrap else {}) | capture

    @property
    def wrap(self) -> Wrap | None:
        """The conditions of its processes, as far as the file has any."""
        if self._role_wrap is None or self.own_wrap is None:
            return self.own_wrap or self._role_wrap
        return self.own_wrap.over(self._role_wrap)


class WorkloadUse(WrappedUse):
    """One entry of `workload`: which workload, as which phase, with which options."""

    use: str = Field(
        description="The workload's name; `steelyard catalog` lists them. Or a Python file next to the "
        "experiment file, such as ./my_workload.py"
    )
    phase: str | None = Field(
        None,
        pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$",
        description="The name of the phase; required if there are several",
    )
    measured: StrictBool = Field(True, description="false: it only prepares, and its figures are discarded")
    timeout: Duration | None = Field(None, description="Time limit of the phase, for example 5min")
    on: str | None = Field(
        None, description="The hosts that run it: a role, or part of one, such as client[:4]"
    )
    to: str | None = Field(None, description="The service it works with, by its name under `services`")
    copies: StrictInt | str = Field(
        1, description="Simultaneous instances on each host: a number, or `cores` for one per core"
    )
    ranks: StrictInt | str | None = Field(
        None, description="Ranks of a parallel program on each host, started as one copy by a launcher"
    )
    launcher: str | None = Field(
        None, description="The launcher of ranks: mpirun, srun, jsrun, blaunch, pbsdsh; default: the site's"
    )
    own_wrap: Wrap | None = Field(
        None,
        alias="wrap",
        description="Conditions for each copy: CPUs, limits, a container …; each may be a level",
    )
    options: dict[str, Any] = Field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """What may hold `${…}` beside the options."""
        fields = {
            key: value for key in ("on", "copies", "ranks") if (value := getattr(self, key)) is not None
        }
        return fields | self.conditions


class Role(Part):
    """A named group of hosts."""

    hosts: Annotated[StrictInt, Field(ge=1, le=100_000)] | Literal["all"] = Field(
        description="Number of the site's hosts, or `all` for those that no other role takes"
    )
    shares: str | None = Field(None, description="The role whose hosts it shares")
    wrap: Wrap | None = Field(
        None,
        description="Conditions for all that runs on it, but for what a workload or service says itself",
    )
    machine: MachineSettings | None = Field(
        None,
        description="Settings of its whole machines during a trial, put back after it; needs "
        f"`allow: {ALLOWED}`",
    )


class Start(Part):
    """How the copies of a workload begin."""

    together: StrictBool = Field(True, description="Start at one agreed instant on all hosts")
    skew: Duration | None = Field(
        None, description="The largest difference between starts; a trial that exceeds it is marked disturbed"
    )


class Recover(Part):
    """With which data a service begins its life."""

    snapshot: str = Field(
        "latest", description="Name of the snapshot, or `latest`; `steelyard cluster snapshots` lists them"
    )
    place: str | None = Field(
        None,
        alias="from",
        description="Where snapshots are: a directory that all hosts can access, or s3://bucket",
    )


class Save(Part):
    """What is kept of a service's data when its life ends."""

    into: str | None = Field(
        None,
        description="Where to store snapshots: a directory that all hosts can access, or s3://bucket/prefix",
    )
    when: Literal["success", "always"] = Field(
        "success", description="Whether to take a snapshot also after a failed trial"
    )


class ServiceUse(WrappedUse):
    """One entry of `services`: what is deployed before measuring, and where."""

    use: str = Field(
        description="The service's name; `steelyard catalog` lists them. Or a Python file next to the "
        "experiment file, such as ./my_server.py. With ${kind}, it is a level, and options that only one "
        "kind has go under its name: redis: {save: true}"
    )
    on: str = Field(
        DEFAULT_ROLE,
        description="The hosts it runs on: a role, or part of one; without roles, all hosts",
    )
    grow_into: str | None = Field(None, description="Further hosts that it may add during use")
    keep: Literal["trial", "cell", "run"] = Field(
        "run", description="How long it lives; with `run`, as long as its options stay the same"
    )
    open: StrictBool = Field(
        False, description="Allow a service without a password, which anyone on its hosts can use"
    )
    recover: Recover | None = Field(None, description="The snapshot whose data it starts with")
    save: Save | None = Field(None, description="Take a snapshot of its data before it is removed")
    own_wrap: Wrap | None = Field(
        None,
        alias="wrap",
        description="Conditions for its servers: CPUs, limits, a container …; each may be a level",
    )
    options: dict[str, Any] = Field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """All that may hold `${…}`."""
        recover = self.recover.model_dump(by_alias=True) if self.recover else None
        fields = {"use": self.use, "on": self.on, "grow_into": self.grow_into, "options": self.options}
        machine = {"machine": self._machine.settings()} if self._machine else {}
        return fields | self.conditions | machine | ({"recover": recover} if recover else {})


def widen_service(value: object) -> object:
    """As `widen_workload`."""
    if not isinstance(value, dict) or "options" in value:
        return value
    keys = ("use", "on", "grow_into", "keep", "open", "recover", "save", "wrap", "capture")
    own = {key: value[key] for key in keys if key in value}
    return {**own, "options": {key: item for key, item in value.items() if key not in own}}


class Prices(Part):
    """What an hour of a machine costs, by its type; the source and date make it a fact."""

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="The currency's ISO 4217 code")
    per_hour: dict[str, Annotated[float, Field(gt=0)]] = Field(
        description="Price per hour by machine type or host name"
    )
    source: str = Field("", description="The source of the prices")
    date: str = Field("", description="The date of the prices, such as 2015-08-01")
