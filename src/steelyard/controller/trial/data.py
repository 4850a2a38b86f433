"""What is known of a trial while it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.controller.attempt import Attempt
from steelyard.controller.trial.phase_result import PhaseResult
from steelyard.errors import TrialFailure
from steelyard.model.keys.computed import ComputedMetric, compute
from steelyard.model.keys.uses import Start
from steelyard.model.metric import Mark
from steelyard.model.trial import Scalar


@dataclass
class TrialData:
    """What is known of a trial so far; whatever happens, this much is recorded."""

    attempt: Attempt
    phases: list[PhaseResult] = field(default_factory=list)
    preparation: Mapping[str, Any] = field(default_factory=dict)
    machines: Mapping[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, Mapping[float, int]] = field(default_factory=dict)
    short: dict[str, int] = field(default_factory=dict)
    bounds: set[str] = field(default_factory=set)
    facts: dict[str, Any] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failure: TrialFailure | None = None
    copies: int = 1
    host_names: tuple[str, ...] = ()

    def copy_values(self) -> dict[str, dict[str, float]]:
        """What each copy said by itself, where there were several."""
        several = [phase for phase in self.phases if len(phase.copies) > 1]
        return {
            f"{phase.name} {copy.name}": dict(copy.reading.values)
            for phase in several
            for copy in phase.copies
            if copy.reading
        }

    def user_time(self, hosts: frozenset[str]) -> float:
        """CPU seconds in user mode of all that ran on these hosts."""
        return sum(phase.user_time(hosts) for phase in self.phases)

    def compute(self, wanted: Mapping[str, ComputedMetric], levels: Mapping[str, Scalar]) -> None:
        """Add the figures that the experiment computes of those so far; say of which it cannot, and why."""
        result = compute(wanted, self.metrics, levels)
        self.metrics |= result.values
        if result.failed:
            self.facts["not_computed"] = result.failed
            self.warnings += [
                f"in some trials {name} has no value: {why}" for name, why in result.failed.items()
            ]

    def add_phase(self, ended: PhaseResult, prefix: str, start: Start) -> None:
        """Add what a phase said, and how its copies began."""
        self.phases.append(ended)
        self.marks += ended.marks()
        if ended.start:
            self.facts[f"{ended.name}_start"] = ended.start.facts()
            self.marks += ended.start.marks(start)
            self.warnings += ended.start.warnings(start)
        if ended.window and ended.window.is_staggered:
            self.facts[f"{ended.name}_window"] = ended.window.facts()
            self.marks += ended.window.marks()
            self.warnings += ended.window.warnings()
        if ended.reading:
            self.metrics |= {prefix + name: value for name, value in ended.reading.values.items()}
            self.histograms |= {prefix + name: bins for name, bins in ended.reading.histograms.items()}
            self.short |= {prefix + name: count for name, count in ended.reading.short.items()}
            self.bounds |= {prefix + name for name in ended.reading.bounds}
            self.facts[ended.name] = dict(ended.reading.facts)
            self.marks += ended.reading.marks
