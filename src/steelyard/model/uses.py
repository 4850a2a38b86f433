"""Who does what where in an experiment: workloads, services, roles, how copies start, what hosts cost."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt

from steelyard.model.part import Part
from steelyard.model.roles import DEFAULT_ROLE
from steelyard.model.wrap import Wrap
from steelyard.units import Duration


def widen_workload(value: object) -> object:
    """Options stand beside Steelyard's own keys in the file; they are parted here."""
    if not isinstance(value, dict) or "options" in value:
        return value
    keys = ("use", "phase", "measured", "timeout", "on", "to", "copies", "ranks", "launcher", "wrap")
    own = {key: value[key] for key in keys if key in value}
    rest = {key: item for key, item in value.items() if key not in own}
    return {**own, "options": rest}


class WorkloadUse(Part):
    """One entry of `workload`: which workload, as which phase, with which options."""

    use: str = Field(description="The workload's name; `steelyard catalog` lists them")
    phase: str | None = Field(
        None, pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$", description="Names the stage, where there are several"
    )
    measured: StrictBool = Field(True, description="false: it prepares, and its figures are not kept")
    timeout: Duration | None = Field(None, description="How long one phase may take, for example 5min")
    on: str | None = Field(None, description="Which hosts run it: a role, or some of it, as client[:4]")
    to: str | None = Field(None, description="The service it talks to, by its name under `services`")
    copies: StrictInt | str = Field(
        1, description="Simultaneous instances on each host: a number, or `cores` for one per core"
    )
    ranks: StrictInt | str | None = Field(
        None, description="Ranks of a parallel program on each host: one copy, started by a launcher"
    )
    launcher: str | None = Field(
        None, description="What starts ranks: mpirun, srun, jsrun, blaunch, pbsdsh; by default the site's"
    )
    wrap: Wrap | None = Field(
        None, description="What each copy is put under: cpus, memory_node, nice, image; each may be a level"
    )
    options: dict[str, Any] = Field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """What may hold `${…}` beside the options."""
        fields = {
            key: value for key in ("on", "copies", "ranks") if (value := getattr(self, key)) is not None
        }
        return fields | ({"wrap": self.wrap.asked()} if self.wrap else {})


class Role(Part):
    """A named group of hosts."""

    hosts: Annotated[StrictInt, Field(ge=1, le=100_000)] | Literal["all"] = Field(
        description="How many hosts of the site, or `all` that no other role takes"
    )
    shares: str | None = Field(None, description="The role whose hosts it uses, instead of hosts of its own")


class Start(Part):
    """How the copies of a workload begin."""

    together: StrictBool = Field(True, description="At one agreed instant, on all hosts")
    skew: Duration | None = Field(
        None, description="The most by which their starts may differ; a trial beyond it is marked disturbed"
    )


class Recover(Part):
    """With which data a service begins its life."""

    snapshot: str = Field(
        "latest", description="Name of a snapshot, or `latest`; `steelyard cluster snapshots` lists them"
    )
    place: str | None = Field(
        None, alias="from", description="Where snapshots lie: a directory that all hosts see, or s3://bucket"
    )


class Save(Part):
    """What is kept of a service's data when its life ends."""

    into: str | None = Field(
        None, description="Where snapshots lie: a directory that all hosts see, or s3://bucket/prefix"
    )
    when: Literal["success", "always"] = Field(
        "success", description="Whether a snapshot is taken after a trial that failed, too"
    )


class ServiceUse(Part):
    """One entry of `services`: what is deployed before measuring, and where."""

    use: str = Field(
        description="The service's name; `steelyard catalog` lists them. With ${kind} it is a level, and "
        "options that one kind alone has stand below its name, as redis: {save: true}"
    )
    on: str = Field(
        DEFAULT_ROLE,
        description="Which hosts it runs on: a role, or some of it; without roles, all hosts",
    )
    grow_into: str | None = Field(None, description="Further hosts that it may take in while it is in use")
    keep: Literal["trial", "cell", "run"] = Field(
        "run", description="How long it lives; in a run as long as its options stay the same"
    )
    open: StrictBool = Field(
        False, description="Everybody on its hosts may use it, where it can ask for no password"
    )
    recover: Recover | None = Field(None, description="The snapshot with whose data it begins")
    save: Save | None = Field(None, description="Take a snapshot of its data at the end of its life")
    wrap: Wrap | None = Field(
        None,
        description="What its servers are put under: cpus, memory_node, nice, image; each may be a level",
    )
    options: dict[str, Any] = Field(default_factory=dict)

    def asked(self) -> dict[str, Any]:
        """All that may hold `${…}`."""
        recover = self.recover.model_dump(by_alias=True) if self.recover else None
        fields = {"use": self.use, "on": self.on, "grow_into": self.grow_into, "options": self.options}
        wrap = {"wrap": self.wrap.asked()} if self.wrap else {}
        return fields | wrap | ({"recover": recover} if recover else {})


def widen_service(value: object) -> object:
    """As `widen_workload`."""
    if not isinstance(value, dict) or "options" in value:
        return value
    keys = ("use", "on", "grow_into", "keep", "open", "recover", "save", "wrap")
    own = {key: value[key] for key in keys if key in value}
    return {**own, "options": {key: item for key, item in value.items() if key not in own}}


class Prices(Part):
    """What an hour of a machine costs, by its type; the source and date make it a fact."""

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="By its ISO 4217 code")
    per_hour: dict[str, Annotated[float, Field(gt=0)]] = Field(
        description="Price of an hour by machine type or host name"
    )
    source: str = Field("", description="Where the prices are from")
    date: str = Field("", description="Of which day they are, as 2015-08-01")
