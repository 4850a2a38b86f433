"""A comparison within one run: the entry `compare` of an experiment.

`compare: build` compares each level of `build` with its first; `{parameter: build, baseline: old, fail_on:
worse, margin: 5%}` lets the run end with 1 where a level is worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from steelyard.model.keys.levels import Levels
from steelyard.model.part import Part
from steelyard.model.trial import Scalar
from steelyard.units import Share

Leave = Literal["failed", "missing", "few"]


def _to_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Compare(Part):
    """The levels of one parameter against its baseline, in cells that are alike in all else."""

    parameter: str = Field(description="The parameter whose levels are compared, such as build")
    baseline: Any = Field(None, description="The level to compare the others with; default: the first")
    metrics: Annotated[tuple[str, ...], BeforeValidator(_to_list)] = Field(
        (), description="The metrics to compare; default: those that the experiment names or declares"
    )
    fail_on: Literal["worse"] | None = Field(
        None, description="Exit with 1 if a level is worse than the baseline, or if no verdict is possible"
    )
    margin: Share | None = Field(
        None, description="With fail_on, pass only levels shown to be worse by at most this much, such as 5%"
    )
    allow: Annotated[tuple[Leave, ...], BeforeValidator(_to_list)] = Field(
        (), description="With fail_on, accept cells with failed trials, missing cells, too few trials"
    )

    @field_validator("baseline")
    @classmethod
    def _check_baseline(cls, value: Any) -> Scalar:
        if not isinstance(value, int | float | str | bool | None):
            raise ValueError("baseline must be one level of the parameter")
        return value

    @field_validator("margin", mode="before")
    @classmethod
    def _check_percent_sign(cls, value: object) -> object:
        """A bare number could be a share or per cent."""
        plain = isinstance(value, int | float) and not isinstance(value, bool | Share)
        if plain or (isinstance(value, str) and "%" not in value):
            raise ValueError(f"{value} needs a percent sign: write 5% for five per cent")
        return value

    @field_validator("margin")
    @classmethod
    def _check_margin(cls, value: Share | None) -> Share | None:
        if value is not None and not 0 < value < 1:
            raise ValueError(f"{value} must be between 0% and 100%")
        return value

    @model_validator(mode="after")
    def _check_gate(self) -> Self:
        given = "margin" if self.margin is not None else "allow" if self.allow else ""
        if given and self.fail_on is None:
            raise ValueError(f"{given} applies only with fail_on; add 'fail_on: worse'")
        return self

    def baseline_level(self, parameters: Mapping[str, Levels]) -> Scalar:
        """The baseline, which is the first level where none is named. Raises KeyError."""
        first: Scalar = parameters[self.parameter].values()[0]
        return first if self.baseline is None else self.baseline


def widen_compare(value: object) -> object:
    """`compare: build` names the parameter."""
    return value if isinstance(value, dict | Compare) else {"parameter": value}
