"""Figures over the ranks of a program: the smallest, the mean and the largest."""

from __future__ import annotations

from typing import Literal

from steelyard.plugin import Metric, ParseFailure
from steelyard.workloads.kit.document import JsonNode

ENDS = ("min", "mean", "max")
_SLACK = 1e-6  # the mean of equal numbers differs from them in its last digits


def spread_metrics(name: str, unit: str, about: str) -> tuple[Metric, ...]:
    """`name_min`, `name_mean` and `name_max`; of times, the slowest rank's leads, as all wait for it."""
    better: Literal["lower", "higher"] = "lower" if unit == "s" else "higher"
    leading = "max" if unit == "s" else ""
    merge = {"min": "min", "mean": "mean", "max": "max"}
    return tuple(
        Metric(
            f"{name}_{end}",
            unit,
            better,
            f"{about}: {end} over ranks",
            over_copies=merge[end],  # type: ignore[arg-type]
            secondary=end != leading,
        )
        for end in ENDS
    )


def parse_spread(node: JsonNode, name: str) -> dict[str, float]:
    """The values of the same metrics. Raises ParseFailure for numbers that are no such three."""
    numbers = [each.number() for each in node.nodes()]
    if len(numbers) != len(ENDS):
        raise ParseFailure(f"{node.where}: {len(numbers)} numbers, not the smallest, mean and largest")
    least, mean, most = numbers
    if not least * (1 - _SLACK) <= mean <= most * (1 + _SLACK):
        raise ParseFailure(f"{node.where}: {least}, {mean}, {most} are not smallest, mean and largest")
    return {f"{name}_{end}": number for end, number in zip(ENDS, numbers, strict=True)}
