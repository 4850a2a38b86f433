"""The experiment: what a file says, and what Python can say just as well.

Short forms are widened before validation, so that one model stands for each thing and one mistake gives one
message: `repeat: 6` becomes `{at_least: 6, at_most: 6}`, a list of levels becomes `{levels: [...]}`, a bare
`sync` becomes `{sync: true}`. The location of a widened key is that of its short form.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    field_validator,
    model_validator,
)

from steelyard.errors import UsageError
from steelyard.model.derive import Derive
from steelyard.model.expression import Expression, ExpressionError
from steelyard.model.levels import Levels, Sample
from steelyard.model.requirement import Requirement
from steelyard.model.roles import DEFAULT_ROLE, Claim
from steelyard.model.timeline import Entry, widened
from steelyard.model.trial import FailureCategory
from steelyard.units import Duration, Share, Size

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
RESERVED = {
    "find": "the search for a limit",
    "limits": "quotas",
}


class Part(BaseModel):
    """Base of everything in an experiment: frozen, and no key is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _widened_workload(value: object) -> object:
    """Options stand beside Steelyard's own keys in the file; they are parted here."""
    if not isinstance(value, dict) or "options" in value:
        return value
    keys = ("use", "phase", "measured", "timeout", "on", "to", "copies", "ranks", "launcher")
    own = {key: value[key] for key in keys if key in value}
    rest = {key: item for key, item in value.items() if key not in own}
    return {**own, "options": rest}


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, dict) else value


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
    options: dict[str, Any] = Field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """What may hold `${…}` beside the options."""
        return {key: value for key in ("on", "copies", "ranks") if (value := getattr(self, key)) is not None}


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


class ServiceUse(Part):
    """One entry of `services`: what is deployed before measuring, and where."""

    use: str = Field(description="The service's name; `steelyard catalog` lists them")
    on: str = Field(description="Which hosts it runs on: a role, or some of it")
    grow_into: str | None = Field(None, description="Further hosts that it may take in while it is in use")
    keep: Literal["trial", "cell", "run"] = Field(
        "run", description="How long it lives; in a run as long as its options stay the same"
    )
    options: dict[str, Any] = Field(default_factory=dict)

    def asked(self) -> dict[str, Any]:
        """All that may hold `${…}`."""
        return {"on": self.on, "grow_into": self.grow_into, "options": self.options}


def _widened_service(value: object) -> object:
    if not isinstance(value, dict) or "options" in value:
        return value
    own = {key: value[key] for key in ("use", "on", "grow_into", "keep") if key in value}
    return {**own, "options": {key: item for key, item in value.items() if key not in own}}


class Prices(Part):
    """What an hour of a machine costs, by its type; the source and date make it a fact."""

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="By its ISO 4217 code")
    per_hour: dict[str, Annotated[float, Field(gt=0)]] = Field(
        description="Price of an hour by machine type or host name"
    )
    source: str = Field("", description="Where the prices are from")
    date: str = Field("", description="Of which day they are, as 2015-08-01")


class Until(Part):
    """Repeat until a metric's interval is narrow enough."""

    metric: str = Field(description="A metric, or metric.median")
    within: Share = Field(description="Half-width of the interval relative to the median, for example 5%")
    confidence: Share = Share(0.95)

    @field_validator("metric")
    @classmethod
    def _of_the_median(cls, value: str) -> str:
        name, _, over = value.partition(".")
        if over not in ("", "median"):
            raise ValueError(f"'{value}': the stop rule looks at the median; write '{name}.median'")
        return name

    @field_validator("within", "confidence")
    @classmethod
    def _inside(cls, value: Share) -> Share:
        if not 0 < value < 1:
            raise ValueError(f"{value} must lie between 0% and 100%")
        return value


class Repeat(Part):
    """How often each cell is measured. Without `until`, `at_most` equals `at_least`."""

    at_least: StrictInt = Field(6, ge=1, le=1_000_000)
    at_most: StrictInt = Field(6, ge=1, le=1_000_000)
    until: Until | None = None
    budget: Duration | None = Field(None, description="Wall time after which no further trial starts")

    @model_validator(mode="before")
    @classmethod
    def _bounds(cls, value: Any) -> Any:
        """One bound alone gives the other: a fixed number, or room for `until`."""
        if not isinstance(value, dict):
            return value
        bounds = dict(value)
        least, most = bounds.get("at_least"), bounds.get("at_most")
        if isinstance(least, int) and most is None:
            bounds["at_most"] = least if "until" not in bounds else max(least, 20)
        elif least is None and isinstance(most, int):
            bounds["at_least"] = min(most, 6)
        elif most is None and "until" in bounds:
            bounds["at_most"] = 20
        return bounds

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.at_least > self.at_most:
            raise ValueError(f"at_least: {self.at_least} is more than at_most: {self.at_most}")
        if self.at_most > self.at_least and self.until is None:
            raise ValueError("at_most above at_least needs 'until', which says when to stop")
        return self


def _widened_repeat(value: object) -> object:
    plain = isinstance(value, int) and not isinstance(value, bool)
    return {"at_least": value, "at_most": value} if plain else value


class Step(Part):
    """One step of `before_each`; exactly one of its keys is given."""

    sync: StrictBool | None = None
    drop_caches: StrictBool | None = None
    settle: Duration | None = Field(None, description="Wait this long, for example 2s")
    warm_up: StrictInt | None = Field(
        None, ge=1, le=1000, description="Unmeasured executions before the measured one"
    )
    precondition: Size | None = Field(None, description="Write and delete this much in the scratch directory")

    @model_validator(mode="after")
    def _single(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("a step has exactly one key: " + ", ".join(type(self).model_fields))
        if self.value in (False, None):
            raise ValueError(f"{self.name}: leave the step out instead of switching it off")
        return self

    @property
    def name(self) -> str:
        """Which step it is: `settle`."""
        return next(iter(self.model_fields_set))

    @property
    def value(self) -> Any:
        """Its argument; True where it has none."""
        return getattr(self, self.name)


def _sound(condition: str | None) -> str | None:
    """A condition whose syntax has been checked."""
    if condition is not None:
        try:
            Expression.parse(condition)
        except ExpressionError as error:
            raise ValueError(error.message) from None
    return condition


class Require(Part):
    """A requirement on a metric, for every cell or for those that `where` picks."""

    that: str
    where: str | None = None

    @field_validator("that")
    @classmethod
    def _readable(cls, value: str) -> str:
        try:
            Requirement.parse(value)
        except UsageError as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("where")
    @classmethod
    def _condition(cls, value: str | None) -> str | None:
        return _sound(value)


class Retry(Part):
    """How often a failed trial is tried again, and after which failures."""

    times: StrictInt = Field(1, ge=1, le=100)
    on: tuple[FailureCategory, ...] = ("crashed", "timed-out", "host-failed")


class Telemetry(Part):
    """How often the host is sampled; None switches it off."""

    every: Duration | None = Duration(1.0)

    @field_validator("every")
    @classmethod
    def _not_too_often(cls, value: Duration | None) -> Duration | None:
        if value is not None and value < 0.1:
            raise ValueError(f"{value} is too often: sampling more than 10 times a second disturbs the trial")
        return value


def _widened(key: str) -> BeforeValidator:
    return BeforeValidator(lambda value: value if isinstance(value, dict) else {key: value})


def _widened_step(value: object) -> object:
    return {value: True} if isinstance(value, str) else value


def _widened_telemetry(value: object) -> object:
    return {"every": None} if value in ("off", False) else value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str | dict) else value


class Experiment(Part):
    """What to measure: the file, or the same from Python.

    `Experiment(experiment="nap", parameters={"seconds": [0.1, 0.2]},
    workload={"use": "command", "run": ["sleep", "${seconds}"]})`
    """

    experiment: str = Field(description="Its name, which becomes part of the run's id")
    about: str = Field("", description="One or more sentences for the report")
    parameters: dict[str, Annotated[Levels, _widened("levels")]] = Field(default_factory=dict)
    roles: dict[
        Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$")], Annotated[Role, _widened("hosts")]
    ] = Field(default_factory=dict, description="Named groups of the site's hosts, with how many each takes")
    services: dict[
        Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$")],
        Annotated[ServiceUse, BeforeValidator(_widened_service)],
    ] = Field(default_factory=dict, description="What is deployed before measuring, by a name of yours")
    timeline: Annotated[tuple[Annotated[Entry, BeforeValidator(widened)], ...], BeforeValidator(_listed)] = (
        Field(
            (), description="Events while a phase runs: grow, kill, cut … at a time or when a condition holds"
        )
    )
    start: Start = Field(default_factory=Start)
    prices: Prices | None = None
    derive: Annotated[tuple[Derive, ...], BeforeValidator(_listed)] = Field(
        (), description="What the report derives: efficiency_loss, speedup, knee, cost, ranking, failure_rate"
    )
    zip: tuple[tuple[str, ...], ...] = Field((), description="Parameters whose levels go in step")
    sample: Sample | None = Field(None, description="How parameters given by `between` are drawn")
    where: str | bool | None = Field(None, description="Keep only cells for which this is true")
    workload: Annotated[
        tuple[Annotated[WorkloadUse, BeforeValidator(_widened_workload)], ...], BeforeValidator(_one_or_many)
    ] = Field(min_length=1)
    before_each: Annotated[
        tuple[Annotated[Step, BeforeValidator(_widened_step)], ...], BeforeValidator(_listed)
    ] = ()
    repeat: Annotated[Repeat, BeforeValidator(_widened_repeat)] = Field(default_factory=Repeat)
    order: Literal["blocked", "random", "as-written"] = "blocked"
    seed: StrictInt | None = Field(
        None, ge=0, lt=2**63, description="Drawn and recorded when it is not given"
    )
    reset: Literal["keep", "recreate"] = Field(
        "recreate", description="What a repetition finds in its scratch"
    )
    timeout: Duration | None = Field(None, description="How long one phase may take; none when not given")
    retry: Annotated[Retry, _widened("times")] | None = None
    require: Annotated[tuple[Annotated[Require, _widened("that")], ...], BeforeValidator(_listed)] = ()
    telemetry: Annotated[Telemetry, BeforeValidator(_widened_telemetry)] = Field(default_factory=Telemetry)
    outliers: Literal["none", "tukey", "mad", "extremes"] = "none"
    disturbed: Literal["exclude", "include"] = Field(
        "exclude", description="Whether trials that something else disturbed count; the record says so"
    )
    site: str | None = Field(None, description="Where it runs by default; --site wins")
    tags: dict[str, str | int | float | bool] = Field(default_factory=dict)
    covers: tuple[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9.]{1,31}$")], ...] = Field(
        (), description="Ids of the requirements it covers, for example SKA1"
    )

    @field_validator("reset", mode="before")
    @classmethod
    def _reserved(cls, value: object) -> object:
        if value == "snapshot":
            raise ValueError("'snapshot' is reserved for data services, which this version does not have")
        return value

    @field_validator("experiment")
    @classmethod
    def _title(cls, value: str) -> str:
        if not TITLE.fullmatch(value):
            raise ValueError(f"'{value[:40]}' must be letters, digits, '.', '_' or '-', at most 63")
        return value

    @field_validator("where")
    @classmethod
    def _condition(cls, value: str | bool | None) -> str | bool | None:
        return _sound(value) if isinstance(value, str) else value

    @field_validator("zip", mode="before")
    @classmethod
    def _groups(cls, value: object) -> object:
        """`zip: [a, b]` is one group."""
        flat = isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value)
        return [value] if flat else value

    @field_validator("workload")
    @classmethod
    def _distinct(cls, value: tuple[WorkloadUse, ...]) -> tuple[WorkloadUse, ...]:
        names = [use.phase for use in value]
        if len(value) > 1 and (None in names or len(set(names)) < len(names)):
            raise ValueError("several entries need 'phase: NAME' each, and no name twice")
        return value

    @property
    def claims(self) -> dict[str, Claim]:
        """The roles as hosts are given out to them; without `roles` one takes every host of the site."""
        named = {name: Claim(role.hosts, role.shares) for name, role in self.roles.items()}
        return named or {DEFAULT_ROLE: Claim("all")}

    def metric_prefix(self, use: WorkloadUse) -> str:
        """What tells the metrics of one measured phase from another's; empty when there is only one."""
        several = sum(entry.measured for entry in self.workload) > 1
        return f"{use.phase}_" if several else ""

    def as_file(self) -> dict[str, Any]:
        """The tree of a file that says the same; what has its default is left out."""
        tree: dict[str, Any] = self.model_dump(
            mode="json", exclude_defaults=True, exclude={"workload", "timeline"}
        )
        if "parameters" in tree:
            tree["parameters"] = {
                name: entry.get("levels", entry) for name, entry in tree["parameters"].items()
            }
        tree["workload"] = [_as_file(use) for use in self.workload]
        if self.timeline:
            tree["timeline"] = [entry.as_file() for entry in self.timeline]
        return tree


def _as_file(use: WorkloadUse) -> dict[str, Any]:
    own = use.model_dump(mode="json", exclude_defaults=True, exclude={"options"})
    return {**own, **use.model_dump(mode="json")["options"]}
