"""What was asked for a process, beside what it got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.model.kernel_report import KernelReport, format_numbers
from steelyard.model.keys.wrap import Conditions
from steelyard.model.metric import Mark


@dataclass(frozen=True, slots=True)
class ConditionCheck:
    """What was asked for a process, and what it got."""

    who: str
    asked: Conditions
    got: KernelReport

    def record(self) -> dict[str, Any]:
        """For the record: each that was asked, with what the kernel says."""
        asked, got = _describe(self.asked), _describe(self.got)
        conditions = {
            key: {"asked": format_numbers(value), "got": format_numbers(got[key])}
            for key, value in asked.items()
            if value is not None
        }
        around = {"in": self.asked.inside, "image": self.asked.image}
        return conditions | {key: {"asked": value} for key, value in around.items() if value}

    def marks(self) -> list[Mark]:
        """One for each that it did not get."""
        return [
            Mark(
                "fallback",
                f"{self.who}: {key} {one['asked']} was requested, but the kernel reports {one['got']}",
            )
            for key, one in self.record().items()
            if one["asked"] != one.get("got", one["asked"])
        ]


def _describe(which: Conditions | KernelReport) -> dict[str, Any]:
    """What was asked, or got, by the keys of the file."""
    return {
        "cpus": which.cpus,
        "cores": which.cores,
        "memory_node": which.memory_nodes,
        "nice": which.nice,
        "cpu_policy": which.policy,
        **which.limits.describe(),
    }
