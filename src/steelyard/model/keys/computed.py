"""Metrics that an experiment computes of each trial's other figures: the entries of `metrics`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator

from steelyard.errors import UnitError
from steelyard.model.expression import Expression, ExpressionError
from steelyard.model.metric import Metric
from steelyard.model.part import Part
from steelyard.model.trial import Scalar
from steelyard.model.unit import base_unit
from steelyard.units import parse_quantity


class ComputedMetric(Part):
    """One figure a trial: `{is: out_size / in_size, unit: '1', better: lower}`.

    Operands are in base units (bytes, seconds, a word of their own), and so is the result.
    """

    formula: str = Field(
        alias="is",
        description="Arithmetic over other metrics of the trial and over parameters, in base units: bytes, "
        "seconds, per second; for example out_size / in_size",
    )
    unit: str = Field(
        "1", description="The unit of the result: s, B, B/s, 1/s, %, 1, or any word such as J/op"
    )
    better: Literal["higher", "lower", "none"] = Field("none", description="Which direction is better")
    about: str = Field("", description="A short description for the report")

    @field_validator("formula")
    @classmethod
    def _check_formula(cls, value: str) -> str:
        try:
            expression = Expression.parse(value)
        except ExpressionError as error:
            raise ValueError(error.message) from None
        if expression.is_condition:
            raise ValueError(f"'{value:.60}' is true or false; a metric is a number")
        if not expression.names:
            raise ValueError(f"'{value:.60}' contains no metric, so it is the same in every trial")
        return value

    @field_validator("unit")
    @classmethod
    def _check_unit(cls, value: str) -> str:
        one = base_unit(value)
        if value not in (one.unit, "%"):
            raise ValueError(
                f"'{value}': results computed from base units are in base units; write {one.unit}"
            )
        return value

    @property
    def expression(self) -> Expression:
        """The formula, parsed."""
        return Expression.parse(self.formula)

    def metric(self, name: str) -> Metric:
        """What a trial records it as."""
        about = self.about or f"computed: {self.formula}"
        return Metric(name, self.unit, self.better, about, formula=self.formula)


class ComputedFigures(NamedTuple):
    """What was computed; and of what could not be, why."""

    values: dict[str, float]
    failed: dict[str, str]


def order_metrics(computed: Mapping[str, ComputedMetric]) -> tuple[str, ...]:
    """The names, each behind those that it is computed of. Raises graphlib.CycleError."""
    operands = {name: entry.expression.names & computed.keys() for name, entry in computed.items()}
    return tuple(TopologicalSorter(operands).static_order())


def compute(
    computed: Mapping[str, ComputedMetric], measured: Mapping[str, float], levels: Mapping[str, Scalar]
) -> ComputedFigures:
    """The computed figures of a trial. One that lacks an operand is missing, as its operand is."""
    names: dict[str, Any] = {**{name: _parse_level(level) for name, level in levels.items()}, **measured}
    figures = ComputedFigures({}, {})
    for name in order_metrics(computed):
        expression = computed[name].expression
        if not expression.names <= names.keys():
            continue
        try:
            names[name] = figures.values[name] = _check_finite(expression.value(names))
        except (ExpressionError, ValueError) as error:
            figures.failed[name] = f"{error} in '{expression.text}'"
    return figures


def is_number(level: Scalar) -> bool:
    """Whether a level can be reckoned with, as 4 and '4MiB' can."""
    return isinstance(_parse_level(level), int | float) and not isinstance(level, bool)


def _parse_level(level: Scalar) -> Scalar:
    """A level in base units; what is no number stays as it is, and no operator takes it."""
    if not isinstance(level, str):
        return level
    try:
        return parse_quantity(level).value
    except UnitError:
        return level


def _check_finite(value: Scalar) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)
