"""How an experiment measures: repetitions, preparation, requirements, retries, telemetry."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, StrictBool, StrictInt, field_validator, model_validator

from steelyard.errors import UsageError
from steelyard.model.expression import Expression, ExpressionError
from steelyard.model.keys.requirement import Requirement
from steelyard.model.part import Part
from steelyard.model.trial import FailureCategory
from steelyard.units import Duration, Share, Size


class Until(Part):
    """Repeat until a metric's interval is narrow enough."""

    metric: str = Field(description="A metric, or metric.median")
    within: Share = Field(
        description="The half-width of the interval to reach, relative to the median, for example 5%"
    )
    confidence: Share = Field(Share(0.95), description="Confidence level of the interval")

    @field_validator("metric")
    @classmethod
    def _check_metric(cls, value: str) -> str:
        name, _, over = value.partition(".")
        if over not in ("", "median"):
            raise ValueError(f"'{value}': the stop rule uses the median; write '{name}.median'")
        return name

    @field_validator("within", "confidence")
    @classmethod
    def _check_share(cls, value: Share) -> Share:
        if not 0 < value < 1:
            raise ValueError(f"{value} must be between 0% and 100%")
        return value


class Repeat(Part):
    """How often each cell is measured. Without `until` and `find`, `at_most` equals `at_least`."""

    at_least: StrictInt = Field(
        6,
        ge=1,
        le=1_000_000,
        description="Minimum repetitions of every cell; fewer than 6 give no 95 % interval",
    )
    at_most: StrictInt = Field(
        6,
        ge=1,
        le=1_000_000,
        description="Maximum repetitions of a cell that `until` or `find` leaves undecided",
    )
    until: Until | None = None
    budget: Duration | None = Field(None, description="Wall time after which no further trial starts")

    @model_validator(mode="before")
    @classmethod
    def _fill_bounds(cls, value: Any) -> Any:
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
    def _check_order(self) -> Self:
        if self.at_least > self.at_most:
            raise ValueError(f"at_least: {self.at_least} is more than at_most: {self.at_most}")
        return self


def widen_repeat(value: object) -> object:
    """`repeat: 6` is at least and at most six."""
    plain = isinstance(value, int) and not isinstance(value, bool)
    return {"at_least": value, "at_most": value} if plain else value


class Step(Part):
    """One step of `before_each`; exactly one of its keys is given."""

    sync: StrictBool | None = Field(None, description="Write all dirty pages to disk")
    drop_caches: StrictBool | None = Field(
        None, description="Empty the page cache; if that is refused, trials are marked"
    )
    settle: Duration | None = Field(None, description="Wait this long, for example 2s")
    warm_up: StrictInt | None = Field(
        None, ge=1, le=1000, description="Number of unmeasured executions before the measured one"
    )
    precondition: Size | None = Field(
        None, description="Write this much data to the scratch directory and delete it"
    )

    @model_validator(mode="after")
    def _check_one_key(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("a step has exactly one key: " + ", ".join(type(self).model_fields))
        if self.value in (False, None):
            raise ValueError(f"{self.name}: remove the step instead of switching it off")
        return self

    @property
    def name(self) -> str:
        """Which step it is: `settle`."""
        return next(iter(self.model_fields_set))

    @property
    def value(self) -> Any:
        """Its argument; True where it has none."""
        return getattr(self, self.name)


def check_condition(condition: str | None) -> str | None:
    """A condition whose syntax has been checked."""
    if condition is not None:
        try:
            Expression.parse(condition)
        except ExpressionError as error:
            raise ValueError(error.message) from None
    return condition


class Require(Part):
    """A requirement on a metric, for every cell or for those that `where` picks.

    With `against` it is one on their ratio to other cells:
    `{that: wall.median <= 105%, where: build == 'new', against: build == 'old'}`.
    """

    that: str = Field(description="METRIC.median, a comparison and a value, such as wall.median <= 2 s")
    where: str | None = Field(None, description="Apply it only to cells for which this is true")
    against: str | None = Field(
        None, description="The cells to divide those of `where` by; all other parameters must match"
    )

    @field_validator("that")
    @classmethod
    def _check_requirement(cls, value: str) -> str:
        try:
            Requirement.parse(value)
        except UsageError as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("where", "against")
    @classmethod
    def _check_conditions(cls, value: str | None) -> str | None:
        return check_condition(value)

    @model_validator(mode="after")
    def _check_sides(self) -> Self:
        if self.against is not None and self.where is None:
            raise ValueError("'against' divides the cells of 'where' by others; add 'where'")
        return self


class Retry(Part):
    """How often a failed trial is tried again, and after which failures."""

    times: StrictInt = Field(1, ge=1, le=100, description="The most times a trial is repeated")
    on: tuple[FailureCategory, ...] = Field(
        ("crashed", "timed-out", "host-failed"), description="The failures after which a trial is repeated"
    )


def check_interval(value: Duration) -> Duration:
    """A sampling interval that leaves the trial alone. Raises ValueError."""
    if value < 0.1:
        raise ValueError(f"{value} is too short: sampling more than 10 times a second disturbs the trial")
    return value


class TelemetrySettings(Part):
    """How often the hosts are sampled."""

    every: Duration | None = Field(
        Duration(1.0), description="The sampling interval; `telemetry: off` disables sampling"
    )

    @field_validator("every")
    @classmethod
    def _check_interval(cls, value: Duration | None) -> Duration | None:
        return None if value is None else check_interval(value)


def widen_step(value: object) -> object:
    """A bare `sync` is `{sync: true}`."""
    return {value: True} if isinstance(value, str) else value


def widen_telemetry(value: object) -> object:
    """`off` is never."""
    return {"every": None} if value in ("off", False) else value
