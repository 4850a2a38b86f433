"""A requirement such as `write_bandwidth.median >= 200 MiB/s`, read from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from steelyard.errors import UnitError, UsageError
from steelyard.model.metric import OverCopies, OverRepetitions
from steelyard.model.unit import read_quantity
from steelyard.units import Quantity

Operator = Literal[">=", "<=", "==", "!=", ">", "<"]
_FORM = re.compile(r"\s*([A-Za-z]\w*(?:\.\w+)*)\s*(>=|<=|==|!=|>|<)?\s*(.*?)\s*", re.ASCII)
EXAMPLE = "for example 'write_bandwidth.median >= 200 MiB/s'"


@dataclass(frozen=True, slots=True)
class Requirement:
    """`metric[.over copies][.over repetitions] operator value`; `bound` is in base units."""

    text: str
    metric: str
    operator: Operator
    bound: Quantity
    over_copies: OverCopies | None = None
    over_repetitions: OverRepetitions | None = None

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Raises UsageError that says which part is missing or wrong."""
        form = _FORM.fullmatch(text)
        if not form:
            raise UsageError(f"'{text:.60}' does not start with a metric; {EXAMPLE}")
        path, operator, value = form.groups()
        if not operator:
            raise UsageError(f"'{text:.60}' lacks a comparison such as '>='; {EXAMPLE}")
        if not value:
            raise UsageError(f"'{text:.60}' lacks a value after '{operator}'; {EXAMPLE}")
        try:
            bound = read_quantity(value)
        except UnitError as error:
            raise UsageError(error.message) from None
        metric, copies, repetitions = _split_path(path)
        return cls(text.strip(), metric, cast(Operator, operator), bound, copies, repetitions)

    def is_met(self, value: float) -> bool:
        """Whether one value satisfies it."""
        bound = self.bound.value
        match self.operator:
            case ">=":
                return value >= bound
            case "<=":
                return value <= bound
            case ">":
                return value > bound
            case "<":
                return value < bound
            case "==":
                return value == bound
        return value != bound

    def is_met_between(self, low: float, high: float) -> bool | None:
        """Whether it is satisfied by all values from `low` to `high`; None where one end does and one not."""
        ends = {self.is_met(low), self.is_met(high)}
        return None if len(ends) == 2 else ends.pop()


def _split_path(path: str) -> tuple[str, OverCopies | None, OverRepetitions | None]:
    metric, *over = path.split(".")
    if len(over) > 2:
        raise UsageError(f"'{path}' has more than metric.over-copies.over-repetitions")
    if over and over[-1] not in get_args(OverRepetitions) and len(over) == 2:
        raise UsageError(f"'{path}': '{over[-1]}' is not one of {', '.join(get_args(OverRepetitions))}")
    repetitions = over.pop() if over and over[-1] in get_args(OverRepetitions) else None
    copies = over.pop() if over else None
    if copies is not None and copies not in get_args(OverCopies):
        allowed = dict.fromkeys((*get_args(OverCopies), *get_args(OverRepetitions)))
        raise UsageError(f"'{path}': '{copies}' is not one of {', '.join(allowed)}")
    return metric, cast("OverCopies | None", copies), cast("OverRepetitions | None", repetitions)
