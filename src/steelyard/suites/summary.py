"""What a suite came to, over all its experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.analysis.findings import Findings, Standing
from steelyard.errors import SteelyardError
from steelyard.report.derived_lines import sections
from steelyard.report.sections.outcome import outcome
from steelyard.report.wording import format_verdicts
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.store.suites import SuiteFolder
from steelyard.suites.runner import find_runs

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
    lines = folder.read_lines()
    plan: Mapping[str, Any] = next((line for line in lines if line.get("kind") == "plan"), {})
    runs = find_runs(folder)
    units = [_summarise_unit(unit, runs, lines, store) for unit in _list_units(plan)]
    return SuiteSummary(
        folder.id,
        str(plan.get("suite", "")),
        str(plan.get("about", "")),
        plan.get("budget"),
        tuple(units),
        {str(name): str(why) for name, why in dict(plan.get("not_tested") or {}).items()},
    )


def _list_units(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for unit in plan.get("units") or ():
        yield str(unit.get("name")), str(unit.get("file"))


def _summarise_unit(
    unit: tuple[str, str], runs: Mapping[str, str], lines: Sequence[Mapping[str, Any]], store: Store
) -> UnitSummary:
    name, file = unit
    ended = [line for line in lines if line.get("kind") == "ended" and line.get("unit") == name]
    seconds = sum(float(line.get("seconds") or 0.0) for line in ended)
    failure = str(ended[-1].get("failure", "")) if ended else ""
    if name not in runs:
        outcome_: UnitOutcome = "failed" if failure else "not-run"
        reason = failure or "it has not begun"
        return UnitSummary(name, file, "", outcome_, reason, "", (), (), seconds)
    try:
        return _describe_run(name, file, RunRecord(store.find(runs[name])), failure, seconds)
    except SteelyardError as error:
        return UnitSummary(name, file, runs[name], "failed", error.message, "", (), (), seconds)


def _describe_run(name: str, file: str, record: RunRecord, failure: str, seconds: float) -> UnitSummary:
    findings, state = Findings(record), record.glance().state
    short = outcome(findings, sections(findings.derived))
    over = state == "complete"
    cut_off: UnitOutcome = "failed" if state == "failed" else "interrupted"
    stands = findings.judge_standing() if over else cut_off
    return UnitSummary(
        name,
        file,
        record.id,
        stands,
        failure or ("" if over else f"the run is {state}"),
        short.answer,
        tuple((one.sentence, format_verdicts(one)) for one in findings.requirements),
        tuple(map(str, record.design.get("covers") or ())),
        seconds,
    )
