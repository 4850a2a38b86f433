"""A report before it has a format: all sections and charts of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steelyard import __version__
from steelyard.analysis.damage import guard_record
from steelyard.analysis.findings import Findings
from steelyard.report.derived_lines import sections
from steelyard.report.gallery import Gallery, draw_gallery
from steelyard.report.sections.environment import EnvironmentSection, describe_environment
from steelyard.report.sections.method import method
from steelyard.report.sections.needs import Need, needs
from steelyard.report.sections.outcome import RunOutcome, outcome
from steelyard.report.sections.plan import Plan, plan
from steelyard.report.sections.results import ResultTables, results
from steelyard.report.sections.section import Section
from steelyard.report.sections.storage_calls import describe_storage_calls
from steelyard.report.sections.trouble import Trouble, trouble

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


def build_page(findings: Findings) -> Page:
    """Gather the report of a run. Raises StoreError when its record is damaged, UnknownName."""
    record, shown = findings.record, findings.shown
    with guard_record(record.id):
        derived = sections(findings.derived)
        within = describe_within(findings)
        measured = record.journal[0].get("version", "unknown") if record.journal else "unknown"
        return Page(
            title=shown.title,
            run=record.id,
            outcome=outcome(findings, derived, within),
            compared=within,
            plan=plan(findings),
            place=describe_environment(record),
            results=results(shown),
            gallery=draw_gallery(findings),
            derived=[*derived, *describe_storage_calls(record)],
            derivation_notes=findings.derived.notes,
            needs=needs(findings.requirements),
            trouble=trouble(record),
            method=method(findings.summary),
            files=FILES,
            versions=[("Measured by Steelyard", str(measured)), ("Reported by Steelyard", __version__)],
        )


def describe_within(findings: Findings) -> ComparisonSection | None:
    """The experiment's own comparison; None where it has none."""
    if not findings.comparison:
        return None
    from steelyard.report.sections.comparison import describe_comparison

    return describe_comparison(findings.comparison)
