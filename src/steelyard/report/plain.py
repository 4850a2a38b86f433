"""A run's results as plain data for JSON; figures in base units."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.analysis.cell_metric import CellMetric
from steelyard.analysis.derived import DerivedResults
from steelyard.analysis.disturbed_trials import AllTrials
from steelyard.analysis.findings import Findings
from steelyard.analysis.over_time.collected import ColumnSummary, summarise_table
from steelyard.analysis.overhead import Overhead
from steelyard.analysis.requirements import JudgedRequirement, Ruling
from steelyard.analysis.summary import CellSummary, Tally
from steelyard.errors import StoreError
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.report.sections.cautions import cautions
from steelyard.report.sections.outcome import doubts
from steelyard.store.reader import CollectedTable, RunRecord

if TYPE_CHECKING:
    from steelyard.analysis.comparison.compare_published import PublishedComparison
    from steelyard.analysis.comparison.gate import GatedComparison

SCHEMA = 1


def plain_run(findings: Findings) -> dict[str, Any]:
    """Everything that was found. `schema` grows when a key changes its meaning."""
    summary = findings.shown
    return {
        "schema": SCHEMA,
        "run": summary.run,
        "experiment": summary.title,
        "outliers": summary.outliers,
        "sequential": summary.sequential,
        "cautions": cautions(summary),
        "doubts": doubts(findings),
        "overhead": _overhead(summary.overhead),
        "metrics": [dataclasses.asdict(metric) for metric in summary.metrics],
        "cells": [_cell(cell, summary.metrics) for cell in summary.cells],
        "requirements": [_requirement(one) for one in findings.requirements],
        "comparison": plain_comparison(findings.comparison) if findings.comparison else None,
        "derived": _derivation(findings.derived),
    }


def _derivation(derived: DerivedResults) -> dict[str, Any]:
    """Everything that was derived, in base units. `kind` says what an entry is: `Scaling`, `KneeStudy` …"""
    return {
        "findings": [{"kind": type(one).__name__, **_plain(one)} for one in derived.results],
        "not_derived": list(derived.notes),
    }


def plain_collected(record: RunRecord) -> list[dict[str, Any]]:
    """What collectors recorded: a table for each trial and host, and what its columns mean and came to."""
    return [
        {
            "trial": trial.number,
            "collector": table.collector,
            "host": table.label,
            "file": str(table.path.relative_to(record.folder.path)),
            **_table(table),
        }
        for trial in record.trials
        for table in record.collector_tables(trial.number)
    ]


def plain_published(found: PublishedComparison) -> dict[str, Any]:
    """A run beside a published result: shares and ratios as plain numbers."""
    return {"schema": SCHEMA, **_plain(found)}


def plain_comparison(gated: GatedComparison) -> dict[str, Any]:
    """Everything that a comparison says; ratios are plain numbers, differences in base units.

    `objections` are what the gate says, and without one what a gate would say that allows nothing.
    """
    from steelyard.analysis.comparison.gate import Gate, find_objections

    comparison, gate = gated.comparison, gated.gate or Gate()
    worst = comparison.worst_verdict()
    return {
        "schema": SCHEMA,
        "a": ",".join(comparison.a),
        "b": ",".join(comparison.b),
        "parameter": comparison.parameter or None,
        "passes": gated.is_passing if gated.gate else None,
        "worst": None if worst is None else str(worst),
        "compared": [
            {
                "cell": dict(one.cell.parameters),
                "metric": one.metric.name,
                "unit": one.metric.unit,
                "verdict": str(one.verdict),
                "note": one.judged.note,
                "adjusted_p": one.judged.adjusted_p,
                "detectable": one.detectable,
                "under": one.disturbance,
                **dataclasses.asdict(one.judged.comparison),
            }
            for one in comparison.compared
        ],
        "only_a": [dict(cell.parameters) for cell in comparison.list_unmatched_cells("a")],
        "only_b": [dict(cell.parameters) for cell in comparison.list_unmatched_cells("b")],
        "differences": [dataclasses.asdict(one) for one in comparison.differences],
        "objections": [
            {"kind": str(one.kind), "cell": dict(one.cell.parameters), "reason": one.reason}
            for one in find_objections(comparison, gate.allowed, margin=gate.margin)
        ],
        "not_compared": list(comparison.left_out),
        "notes": [f"{one.cell.key}: {one}" for one in comparison.missing_values],
    }


def _plain(value: Any) -> Any:
    """Any frozen value of the analysis; cells become their parameters, metrics their names."""
    if isinstance(value, Cell):
        return dict(value.parameters)
    if isinstance(value, Metric):
        return {"name": value.name, "unit": value.unit, "better": value.better}
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _overhead(found: Overhead | None) -> dict[str, Any] | None:
    """CPU seconds, and the share of one core that they are."""
    if found is None:
        return None
    shares = {"controller": found.core_share(found.controller)}
    shares |= {"agents": found.core_share(sum(found.agents.values()))}
    return {**dataclasses.asdict(found), "of_a_core": shares}


def _table(table: CollectedTable) -> dict[str, Any]:
    """Its columns; where it cannot be read, why."""
    try:
        return {"columns": {name: _column(one) for name, one in summarise_table(table).items()}}
    except StoreError as error:
        return {"columns": {}, "unreadable": error.message}


def _column(summary: ColumnSummary) -> dict[str, Any]:
    figures = {"samples": summary.samples, "min": summary.least, "mean": summary.mean, "max": summary.most}
    return {**summary.meaning._asdict(), **figures}


def _cell(cell: CellSummary, metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "cell": cell.cell.key,
        "parameters": dict(cell.cell.parameters),
        "n": cell.n,
        "stopped_early": cell.stopped_early,
        "metrics": {metric.name: _metric(cell.metrics[metric.name]) for metric in metrics},
        "failed": [_tally(tally) for tally in cell.failed],
        "marked": [_tally(tally) for tally in cell.marked],
    }


def _metric(one: CellMetric) -> dict[str, Any]:
    disturbed: dict[str, Any] = {"with_disturbed": _disturbed_figures(one.with_disturbed)}
    if one.is_upper_bound:
        disturbed["at_most"] = True
    if one.summary is None:
        return {"reason": one.reason, "median_of_marked": one.marked_median, **disturbed}
    return {
        **dataclasses.asdict(one.summary),
        "trials": list(one.trials),
        "values": list(one.values),
        "set_aside": list(one.outlier_trials),
        **disturbed,
    }


def _disturbed_figures(found: AllTrials | None) -> dict[str, Any] | None:
    """The same over all trials that ended well, and what disturbed them; None where nothing did."""
    if found is None:
        return None
    return {
        **dataclasses.asdict(found.summary),
        "trials": list(found.trials),
        "values": list(found.values),
        "under": [dataclasses.asdict(cause) for cause in found.causes],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {"what": tally.what, "reasons": list(tally.reasons), "trials": list(tally.trials)}


def _requirement(one: JudgedRequirement) -> dict[str, Any]:
    return {
        "text": one.requirement.text,
        "where": one.where,
        "against": one.against,
        "verdict": str(one.verdict),
        "cells": [_ruling(ruling) for ruling in one.rulings],
    }


def _ruling(ruling: Ruling) -> dict[str, Any]:
    return {
        "cell": ruling.cell.key,
        "verdict": str(ruling.verdict),
        "value": ruling.value,
        "interval": None if ruling.interval is None else dataclasses.asdict(ruling.interval),
        "note": ruling.note,
    }
