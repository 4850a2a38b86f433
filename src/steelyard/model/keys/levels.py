"""The levels of a parameter: listed, ranged, or drawn between two bounds."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from steelyard.model.trial import Scalar

MOST_LEVELS = 100_000


def _check_number(value: object) -> int | float:
    """One message where a union of int and float would give two."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is not a number")
    return value


def _check_positive(value: int | float) -> int | float:
    if value <= 0:
        raise ValueError(f"{value} must be greater than 0")
    return value


Number = Annotated[Any, AfterValidator(_check_number), WithJsonSchema({"type": "number"})]
Positive = Annotated[Number, AfterValidator(_check_positive)]


class Levels(BaseModel):
    """One of: `levels` (a list, or one value), `range` with `step`, `count` or `factor`, or `between`.

    A range holds its last value when the step meets it: `{range: [1, 4], step: 3}` is 1, 4.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    levels: tuple[Any, ...] | None = Field(None, description="The levels as a list, or one value")
    range: tuple[Number, Number] | None = Field(None, description="First and last level")
    step: Positive | None = Field(None, description="The difference between consecutive levels of a range")
    count: StrictInt | None = Field(
        None, ge=2, le=MOST_LEVELS, description="The number of levels, evenly spread"
    )
    factor: Positive | None = Field(None, description="The ratio of each level to the one before")
    between: tuple[Number, Number] | None = Field(None, description="Bounds for `sample`")
    scale: Literal["linear", "log"] = Field(
        "linear", description="How `count` or `sample` spread levels between the bounds"
    )
    integer: StrictBool = Field(False, description="Whether drawn levels are rounded to whole numbers")

    @field_validator("levels", mode="before")
    @classmethod
    def _check_levels(cls, value: object) -> object:
        if isinstance(value, dict):
            raise ValueError("a parameter must be a list of levels, or have the key 'range' or 'between'")
        levels = value if isinstance(value, list | tuple) else [value]
        if not levels:
            raise ValueError("a parameter needs at least one level")
        for level in levels:
            if not isinstance(level, int | float | str | bool | None):
                raise ValueError(
                    f"a level must be a number, a string, true, false or null, not {level!r:.60}"
                )
        return tuple(levels)

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        forms = [name for name in ("levels", "range", "between") if getattr(self, name) is not None]
        if len(forms) != 1:
            raise ValueError(
                "a parameter must be a list of levels, or have one of the keys 'range', 'between'"
            )
        spread = [name for name in ("step", "count", "factor") if getattr(self, name) is not None]
        if forms != ["range"] and spread:
            raise ValueError(f"'{spread[0]}' can be used only with 'range'")
        if len(spread) > 1:
            raise ValueError(f"a range can have either {' or '.join(spread)}, not both")
        if forms != ["between"] and (self.scale != "linear" or self.integer):
            raise ValueError("'scale' and 'integer' can be used only with 'between'")
        self._check_bounds()
        return self

    def _check_bounds(self) -> None:
        low, high = self.range or self.between or (0, 1)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"the first of {[low, high]} must be less than the last")
        if self.factor is not None and self.factor <= 1:
            raise ValueError(f"factor: {self.factor} must be greater than 1")
        if low <= 0 and (self.factor is not None or self.scale == "log"):
            raise ValueError(f"{'factor' if self.factor else 'scale: log'} needs bounds above 0, found {low}")
        if self.range and self._length(low, high) > MOST_LEVELS:
            raise ValueError(f"this range has more than {MOST_LEVELS:,} levels")

    def _length(self, low: float, high: float) -> float:
        if self.count is not None:
            return self.count
        if self.factor is not None:
            return math.log(high / low) / math.log(self.factor)
        return (high - low) / (self.step or 1)

    def values(self) -> tuple[Scalar, ...]:
        """All levels in order. Empty for `between`, whose levels `Sample` draws."""
        if self.levels is not None:
            return self.levels
        if self.range is None:
            return ()
        low, high = self.range
        spread = range(1, int(self._length(low, high) + 2))
        levels = [low, *(level for level in map(self._nth_level, spread) if level <= high * (1 + 1e-12))]
        whole = all(float(level).is_integer() for level in (*levels, high))
        return tuple(int(level) if whole else _tidy(level) for level in levels)

    def _nth_level(self, index: int) -> float:
        low, high = self.range or (0, 1)
        if self.count is not None:
            return float(low + (high - low) * index / (self.count - 1))
        return float(low * self.factor**index if self.factor is not None else low + index * (self.step or 1))

    def interpolate(self, share: float) -> Scalar:
        """The level at a share (0 to 1) of the way between the bounds; for `Sample`."""
        low, high = self.between or (0, 1)
        value = low * (high / low) ** share if self.scale == "log" else low + (high - low) * share
        return round(value) if self.integer else float(f"{value:.6g}")


class Sample(BaseModel):
    """How the parameters given by `between` are drawn together."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    method: Literal["latin-hypercube", "sobol"] = Field(
        "latin-hypercube", description="How the points are distributed between the bounds"
    )
    size: StrictInt = Field(ge=1, le=MOST_LEVELS, description="The number of points to draw")


def _tidy(value: float) -> float:
    """0.30000000000000004 is 0.3 to people."""
    return float(f"{value:.12g}")
