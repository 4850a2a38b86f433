"""The experiment: what a file says, and what Python can say just as well.

Short forms are widened before validation, so that one model stands for each thing and one mistake gives one
message: `repeat: 6` becomes `{at_least: 6, at_most: 6}`, a list of levels becomes `{levels: [...]}`, a bare
`sync` becomes `{sync: true}`. The location of a widened key is that of its short form.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    StrictBool,
    StrictInt,
    field_validator,
    model_validator,
)

from steelyard.model.keys.alert import Alert
from steelyard.model.keys.collect import CollectorUse, widen_collector
from steelyard.model.keys.compare import Compare, widen_compare
from steelyard.model.keys.computed import ComputedMetric
from steelyard.model.keys.derive import Derive
from steelyard.model.keys.find import Find
from steelyard.model.keys.image import ImageRecipe
from steelyard.model.keys.levels import Levels, Sample
from steelyard.model.keys.method import (
    Repeat,
    Require,
    Retry,
    Step,
    TelemetrySettings,
    check_condition,
    widen_repeat,
    widen_step,
    widen_telemetry,
)
from steelyard.model.keys.roles import DEFAULT_ROLE, RoleClaim
from steelyard.model.keys.timeline import Entry, widen_entry
from steelyard.model.keys.uses import (
    Prices,
    Role,
    ServiceUse,
    Start,
    WorkloadUse,
    widen_service,
    widen_workload,
)
from steelyard.model.part import Part
from steelyard.units import Duration

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
RESERVED = {
    "limits": "quotas",
}


def _check_title(value: str) -> str:
    if not TITLE.fullmatch(value):
        raise ValueError(f"'{value[:40]}' must be letters, digits, '.', '_' or '-', at most 63")
    return value


Title = Annotated[str, AfterValidator(_check_title)]
"""A name that becomes part of ids."""


def _wrap_mapping(value: object) -> object:
    return [value] if isinstance(value, dict) else value


def _widen_to(key: str) -> BeforeValidator:
    return BeforeValidator(lambda value: value if isinstance(value, dict) else {key: value})


def _to_list(value: object) -> object:
    return [value] if isinstance(value, str | dict) or callable(value) else value


class Experiment(Part):
    """What to measure: the file, or the same from Python.

    `Experiment(experiment="nap", parameters={"seconds": [0.1, 0.2]},
    workload={"use": "command", "run": ["sleep", "${seconds}"]})`
    """

    experiment: Title = Field(description="The experiment's name, which becomes part of the run's id")
    about: str = Field("", description="One or more sentences for the report")
    dir: str = Field(
        "",
        description="The folder in which paths of this file begin, such as those of programs and plug-ins; "
        "default: the file's own",
    )
    parameters: dict[str, Annotated[Levels, _widen_to("levels")]] = Field(default_factory=dict)
    roles: dict[
        Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$")], Annotated[Role, _widen_to("hosts")]
    ] = Field(default_factory=dict, description="Named groups of the site's hosts, and the size of each")
    services: dict[
        Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$")],
        Annotated[ServiceUse, BeforeValidator(widen_service)],
    ] = Field(
        default_factory=dict,
        description="The services to deploy before measuring, each under a name you choose",
    )
    images: dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")], ImageRecipe] = Field(
        default_factory=dict,
        description="Images to make before measuring (mmdebstrap), each under a name for `wrap: {image: …}`",
    )
    allow: Annotated[tuple[Literal["machine-settings", "drain"], ...], BeforeValidator(_to_list)] = Field(
        (),
        description="What a run may do to what others use, too: machine-settings, for `machine` of a role; "
        "drain, for the event of that name",
    )
    timeline: Annotated[
        tuple[Annotated[Entry, BeforeValidator(widen_entry)], ...], BeforeValidator(_to_list)
    ] = Field(
        (),
        description="Events during a phase: grow, kill, cut …, triggered by time, by a condition, or "
        "by a generator function",
    )
    alert: Annotated[tuple[Alert, ...], BeforeValidator(_to_list)] = Field(
        (), description="Conditions to be told of while a trial runs"
    )
    start: Start = Field(default_factory=Start)
    prices: Prices | None = None
    metrics: dict[
        Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")], Annotated[ComputedMetric, _widen_to("is")]
    ] = Field(
        default_factory=dict,
        description="Figures computed from each trial's other figures, such as {ratio: out_size / in_size}",
    )
    derive: Annotated[tuple[Derive, ...], BeforeValidator(_to_list)] = Field(
        (),
        description="What the report calculates: efficiency_loss, speedup, knee, cost, ranking, failure_rate",
    )
    zip: tuple[tuple[str, ...], ...] = Field(
        (), description="Groups of parameters whose levels change together"
    )
    sample: Sample | None = Field(None, description="How levels of parameters with `between` are drawn")
    compare: Annotated[Compare, BeforeValidator(widen_compare)] | None = Field(
        None,
        description="Compare the levels of one parameter within the run, and optionally fail on a worse one",
    )
    find: Find | None = Field(
        None, description="Search for the limit of one parameter within which a condition holds"
    )
    where: str | bool | None = Field(None, description="Keep only cells for which this is true")
    workload: Annotated[
        tuple[Annotated[WorkloadUse, BeforeValidator(widen_workload)], ...], BeforeValidator(_wrap_mapping)
    ] = Field(min_length=1)
    before_each: Annotated[
        tuple[Annotated[Step, BeforeValidator(widen_step)], ...], BeforeValidator(_to_list)
    ] = ()
    repeat: Annotated[Repeat, BeforeValidator(widen_repeat)] = Field(default_factory=Repeat)
    order: Literal["blocked", "random", "as-written"] = Field(
        "blocked",
        description="All cells in random order, once per repetition; or all trials shuffled; or "
        "one cell after the other",
    )
    seed: StrictInt | None = Field(
        None, ge=0, lt=2**63, description="Random seed; default: drawn and recorded"
    )
    reset: Literal["keep", "recreate", "snapshot", "checkpoint"] = Field(
        "recreate",
        description="The state each repetition starts from: the old scratch, an empty one, or also the "
        "data of a snapshot in its services, or their running servers as of a checkpoint",
    )
    hold: StrictBool = Field(
        False, description="Leave the services running after the last trial, until `steelyard cluster stop`"
    )
    timeout: Duration | None = Field(None, description="Time limit of one phase; default: none")
    retry: Annotated[Retry, _widen_to("times")] | None = None
    require: Annotated[tuple[Annotated[Require, _widen_to("that")], ...], BeforeValidator(_to_list)] = ()
    telemetry: Annotated[TelemetrySettings, BeforeValidator(widen_telemetry)] = Field(
        default_factory=TelemetrySettings
    )
    collect: Annotated[
        tuple[Annotated[CollectorUse, BeforeValidator(widen_collector)], ...], BeforeValidator(_to_list)
    ] = Field((), description="What to record beside the workload: collectors by name, with their options")
    outliers: Literal["none", "tukey", "mad", "extremes"] = Field(
        "none",
        description="How a summary excludes outliers; `tukey` and `mad` make intervals too narrow where "
        "there are two modes (docs/explanation/statistics.md)",
    )
    disturbed: Literal["replace", "exclude", "include"] = Field(
        "replace",
        description="How to handle trials disturbed by other load: repeat them, up to twice the number of "
        "trials; leave them out; or count them, as the record notes",
    )
    site: str | None = Field(None, description="The default site; --site overrides it")
    tags: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Your own labels, which the record stores"
    )
    covers: tuple[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9.]{1,31}$")], ...] = Field(
        (), description="Ids of the requirements that the experiment covers, for example SKA1"
    )
    _folder: Path | None = PrivateAttr(None)

    @field_validator("where")
    @classmethod
    def _check_where(cls, value: str | bool | None) -> str | bool | None:
        return check_condition(value) if isinstance(value, str) else value

    @field_validator("zip", mode="before")
    @classmethod
    def _widen_zip(cls, value: object) -> object:
        """`zip: [a, b]` is one group."""
        flat = isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value)
        return [value] if flat else value

    @field_validator("workload")
    @classmethod
    def _check_phases(cls, value: tuple[WorkloadUse, ...]) -> tuple[WorkloadUse, ...]:
        names = [use.phase for use in value]
        if len(value) > 1 and (None in names or len(set(names)) < len(names)):
            raise ValueError("with several entries, each needs a distinct 'phase: NAME'")
        return value

    @model_validator(mode="after")
    def _tell_of_conditions(self) -> Self:
        """What processes run under may be said by their role, and its image by `images`."""
        uses: tuple[WorkloadUse | ServiceUse, ...] = (*self.workload, *self.services.values())
        for use in uses:
            role = self.roles.get((use.on or next(iter(self.claims))).partition("[")[0].strip())
            use.learn_role(role)
        for wrap in (*(use.own_wrap for use in uses), *(role.wrap for role in self.roles.values())):
            if wrap:
                wrap.know_images(self.images)
        return self

    @property
    def prepares_once(self) -> bool:
        """Whether what repetitions begin with is prepared once, and brought back for each of them."""
        return self.reset in ("snapshot", "checkpoint")

    @property
    def folder(self) -> Path | None:
        """Where its file lies, or its `dir`, with the programs there; None where that is not known."""
        return self._folder

    def with_folder(self, folder: Path) -> Self:
        """The same with the folder of its file."""
        place = folder / self.dir
        experiment = self.model_copy(update=self._list_uses(place))
        experiment._folder = place
        return experiment

    def _list_uses(self, folder: Path) -> dict[str, Any]:
        """All that names plug-ins, with the folder in which those are that lie beside the file."""
        return {
            "workload": tuple(use.with_folder(folder) for use in self.workload),
            "services": {name: use.with_folder(folder) for name, use in self.services.items()},
            "timeline": tuple(entry.with_folder(folder) for entry in self.timeline),
            "collect": tuple(use.with_folder(folder) for use in self.collect),
        }

    @property
    def claims(self) -> dict[str, RoleClaim]:
        """The roles as hosts are given out to them; without `roles` one takes every host of the site."""
        named = {name: RoleClaim(role.hosts, role.shares) for name, role in self.roles.items()}
        return named or {DEFAULT_ROLE: RoleClaim("all")}

    def metric_prefix(self, use: WorkloadUse) -> str:
        """What tells the metrics of one measured phase from another's; empty when there is only one."""
        several = sum(entry.measured for entry in self.workload) > 1
        return f"{use.phase}_" if several else ""

    def to_tree(self) -> dict[str, Any]:
        """The tree of a file that says the same; what has its default is left out."""
        tree: dict[str, Any] = self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"workload", "timeline", "collect"}
        )
        if "parameters" in tree:
            tree["parameters"] = {
                name: entry.get("levels", entry) for name, entry in tree["parameters"].items()
            }
        tree["workload"] = [_dump_use(use) for use in self.workload]
        if self.collect:
            tree["collect"] = [use.to_tree() for use in self.collect]
        if self.timeline:
            tree["timeline"] = [entry.to_tree() for entry in self.timeline]
        return tree


def _dump_use(use: WorkloadUse) -> dict[str, Any]:
    own = use.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"options"})
    return {**own, **use.model_dump(mode="json")["options"]}
