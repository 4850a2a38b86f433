"""What is recorded beside the workload: `collect` of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from steelyard.model.keys.plugin_use import PlugInUse, short_name

if TYPE_CHECKING:
    from steelyard.model.experiment import Experiment

TELEMETRY = "telemetry"
"""The collector that is there unless a file says otherwise."""


class CollectorUse(PlugInUse):
    """One entry of `collect`: which collector, and what it looks at."""

    use: str = Field(description="The collector's name; `steelyard catalog` lists them")
    on: str | None = Field(
        None, description="The hosts it looks at: a role, or part of one, such as db[:2]; default: all hosts"
    )
    service: str | None = Field(
        None,
        alias="from",
        description="The service it looks at, by its name under `services`, for a collector of services",
    )
    name: str | None = Field(
        None,
        alias="as",
        pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$",
        description="The name of its table in the record; required to use one collector twice",
    )
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def table(self) -> str:
        """What its table is called."""
        return self.name or short_name(self.use)

    def to_tree(self) -> dict[str, Any]:
        """As it stands in a file."""
        own = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"options"})
        return {**own, **self.model_dump(mode="json")["options"]}


def list_collectors(experiment: Experiment) -> tuple[CollectorUse, ...]:
    """All that is recorded beside the workload; `telemetry` is the short form of one entry of `collect`."""
    every = experiment.telemetry.every
    if every is None or any(use.use == TELEMETRY for use in experiment.collect):
        return experiment.collect
    return (CollectorUse(use=TELEMETRY, options={"every": every}), *experiment.collect)


def widen_collector(value: object) -> object:
    """A bare `telemetry` is `{use: telemetry}`; options stand beside our own keys, and are parted here."""
    if isinstance(value, str):
        return {"use": value}
    if not isinstance(value, dict) or "options" in value:
        return value
    own = {key: value[key] for key in ("use", "on", "from", "as") if key in value}
    return {**own, "options": {key: item for key, item in value.items() if key not in own}}
