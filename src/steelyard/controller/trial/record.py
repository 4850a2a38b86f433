"""What is kept of a trial that has ended: its result, its line in the journal, two documents with more."""

from __future__ import annotations

from typing import Any

from steelyard.controller.trial.data import TrialData
from steelyard.errors import StoreFull
from steelyard.model.trial import Result
from steelyard.store.writer import RunWriter


def make_result(data: TrialData, seconds: float) -> Result:
    """How the trial ended, after so many seconds."""
    trial, failure, marks = data.attempt.trial, data.failure, tuple(data.marks)
    who = {"copies": data.copies, "on": data.host_names}
    if failure:
        return Result(trial, "failed", seconds, {}, marks, failure.category, **who)  # type: ignore[arg-type]
    return Result(trial, "ok", seconds, dict(data.metrics), marks, **who)  # type: ignore[arg-type]


def write_documents(data: TrialData, writer: RunWriter) -> None:
    """The documents beside the journal, whose line counts. Where the store is full, that is a warning."""
    number = data.attempt.number
    folder = writer.folder.trial(number)
    document = {
        "trial": number,
        "parameters": dict(data.attempt.cell.parameters),
        "repetition": data.attempt.trial.repetition,
        "prepared": dict(data.preparation),
        **({"machines": dict(data.machines)} if data.machines else {}),
        "phases": [document for ended in data.phases for document in ended.documents()],
    }
    try:
        writer.make_directory(folder)
        writer.write_document(folder / "trial.json", document)
        if data.metrics or data.histograms:
            bins = {name: {str(k): n for k, n in b.items()} for name, b in data.histograms.items()}
            content = {"values": data.metrics, "histograms": bins, "copies": data.copy_values()}
            writer.write_document(folder / "metrics.json", content, sync=bool(bins))
    except StoreFull as error:
        data.warnings.append(f"trial {number}: {error.message}")


def describe_end(result: Result, data: TrialData) -> dict[str, Any]:
    """The journal's line of a trial that has ended."""
    line: dict[str, Any] = {
        "trial": data.attempt.number,
        "attempt": data.attempt.count,
        "repetition": result.trial.repetition,
        "parameters": dict(result.trial.cell.parameters),
        "status": result.status,
        "seconds": result.seconds,
        "metrics": dict(result.metrics),
        "marks": [mark.record() for mark in result.marks],
    }
    if result.on:
        line |= {"copies": result.copies, "on": list(result.on)}
    if data.failure:
        line |= {"category": data.failure.category, "message": data.failure.message}
    more = {"short": data.short, "at_most": sorted(data.bounds), "facts": data.facts}
    return line | {key: value for key, value in more.items() if value}
