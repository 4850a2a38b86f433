"""What a suite came to, over all its experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.analysis.findings import Findings, Standing
from steelyard.errors import SteelyardError
from steelyard.report.derived_lines import sections
from steelyard.report.sections.outcome import outcome
from steelyard.report.wording import format_verdicts
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.store.suites import SuiteFolder
from steelyard.suites.progress import UnitProgress, read_progress

UnitOutcome = Standing | Literal["interrupted", "not-run"]
WORST_FIRST: tuple[UnitOutcome, ...] = ("failed", "not-met", "undecided", "interrupted", "not-run", "passed")


@dataclass(frozen=True, slots=True)
class UnitSummary:
    """An experiment of a suite. `needs` are its requirements, each with how it stands."""

    name: str
    file: str
    run: str
    outcome: UnitOutcome
    reason: str
    answer: str
    needs: tuple[tuple[str, str], ...]
    covers: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class SuiteSummary:
    """A suite as IEEE 829 has it: the plan, its units, and what it does not test."""

    id: str
    name: str
    about: str
    budget: float | None
    units: tuple[UnitSummary, ...]
    not_tested: Mapping[str, str]

    @property
    def counts(self) -> Counter[UnitOutcome]:
        """How many units came to what."""
        return Counter(unit.outcome for unit in self.units)

    @property
    def worst(self) -> UnitOutcome:
        """What the whole suite came to."""
        return next(one for one in WORST_FIRST if self.counts[one])

    @property
    def exit_code(self) -> int:
        """As of `steelyard run`: 3 if an experiment could not be carried out, 1 if one does not pass."""
        return {"failed": 3, "passed": 0}.get(self.worst, 1)


def summarise_suite(folder: SuiteFolder, store: Store) -> SuiteSummary:
    """From what was written down when it began, and the records of its runs. Raises StoreError."""
    stands = read_progress(folder, store)
    units = tuple(_summarise_unit(unit, store) for unit in stands.units)
    return SuiteSummary(stands.id, stands.name, stands.about, stands.budget, units, stands.not_tested)


def _summarise_unit(unit: UnitProgress, store: Store) -> UnitSummary:
    if not unit.run:
        outcome_: UnitOutcome = "failed" if unit.failure else "not-run"
        reason = unit.failure or "it has not begun"
        return UnitSummary(unit.name, unit.file, "", outcome_, reason, "", (), (), unit.seconds)
    try:
        return _describe_run(unit, RunRecord(store.find(unit.run)))
    except SteelyardError as error:
        return UnitSummary(unit.name, unit.file, unit.run, "failed", error.message, "", (), (), unit.seconds)


def _describe_run(unit: UnitProgress, record: RunRecord) -> UnitSummary:
    findings, state = Findings(record), record.glance().state
    short = outcome(findings, sections(findings.derived))
    over = state == "complete"
    cut_off: UnitOutcome = "failed" if state == "failed" else "interrupted"
    stands = findings.judge_standing() if over else cut_off
    return UnitSummary(
        unit.name,
        unit.file,
        record.id,
        stands,
        unit.failure or ("" if over else f"the run is {state}"),
        short.answer,
        tuple((one.sentence, format_verdicts(one)) for one in findings.requirements),
        tuple(map(str, record.design.get("covers") or ())),
        unit.seconds,
    )
