"""A report before it has a format: all sections and charts of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from steelyard import __version__
from steelyard.analysis.damage import guard_record
from steelyard.analysis.derived import derive
from steelyard.analysis.requirements import judge
from steelyard.analysis.summary import RunSummary, summarise_run
from steelyard.report.findings import sections
from steelyard.report.gallery import Gallery, draw_gallery
from steelyard.report.sections.environment import EnvironmentSection, describe_environment
from steelyard.report.sections.finding import Section
from steelyard.report.sections.method import method
from steelyard.report.sections.needs import Need, needs
from steelyard.report.sections.outcome import RunOutcome, outcome
from steelyard.report.sections.plan import Plan, plan
from steelyard.report.sections.results import ResultTables, results
from steelyard.report.sections.trouble import Trouble, trouble
from steelyard.stats.outliers import Policy
from steelyard.store.reader import RunRecord

if TYPE_CHECKING:  # comparing loads numpy, which few reports need
    from steelyard.report.sections.comparison import ComparisonSection

FILES = (
    ("experiment.yaml", "the experiment as run"),
    ("design.json", "cells, metrics, requirements, order, seed"),
    ("environment.json", "the machine, as found when the run began"),
    ("journal.ndjson", "everything that happened, in order; everything else is derived from it"),
    ("trials/<n>/", "the commands, the output, the figures and the telemetry of each trial"),
    ("derived/", "reports and exports; can be deleted and regenerated"),
)


class Page(NamedTuple):
    """The whole report of a run; what the templates see. `derivation_notes`: what was asked for and why it
    lacks.
    """

    title: str
    run: str
    outcome: RunOutcome
    compared: ComparisonSection | None
    plan: Plan
    place: EnvironmentSection
    results: ResultTables
    gallery: Gallery
    derived: list[Section]
    derivation_notes: tuple[str, ...]
    needs: list[Need]
    trouble: Trouble
    method: list[str]
    files: tuple[tuple[str, str], ...]
    versions: list[tuple[str, str]]


def build_page(record: RunRecord, *, outliers: Policy | None = None, metrics: Sequence[str] = ()) -> Page:
    """Gather the report of a run, of these `metrics` alone where any are given.

    Raises StoreError when its record is damaged, UnknownName.
    """
    summary = summarise_run(record, outliers=outliers)
    judged = judge(record, summary)
    derived, shown = derive(record, summary), summary.filter_metrics(metrics)
    with guard_record(record.id):
        findings = sections(derived)
        within = _compare_within(record, summary)
        return Page(
            title=summary.title,
            run=record.id,
            outcome=outcome(record, shown, judged, findings, within),
            compared=within,
            plan=plan(record, summary),
            place=describe_environment(record),
            results=results(shown),
            gallery=draw_gallery(record, shown, derived),
            derived=findings,
            derivation_notes=derived.notes,
            needs=needs(judged),
            trouble=trouble(record, summary),
            method=method(summary),
            files=FILES,
            versions=_versions(record),
        )


def _compare_within(record: RunRecord, summary: RunSummary) -> ComparisonSection | None:
    """What the experiment's own `compare` says; None where it has none."""
    if not record.design.get("compare"):
        return None
    from steelyard.analysis.comparison.compare_levels import compare_within
    from steelyard.report.sections.comparison import describe_comparison

    own = compare_within(record, summary)
    return describe_comparison(own) if own else None


def _versions(record: RunRecord) -> list[tuple[str, str]]:
    measured = record.journal[0].get("version", "unknown") if record.journal else "unknown"
    return [("Measured by Steelyard", str(measured)), ("Reported by Steelyard", __version__)]
