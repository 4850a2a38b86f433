"""What to say of a run that is over."""

from __future__ import annotations

from dataclasses import replace

from steelyard.analysis.findings import Findings
from steelyard.errors import HostLost, Interrupted, SteelyardError
from steelyard.notices.notice import Event, Notice
from steelyard.report.derived_lines import sections
from steelyard.report.sections.history import answer as answer_history
from steelyard.report.sections.outcome import outcome
from steelyard.report.wording import format_verdicts
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import RunRecord


def describe_outcome(findings: Findings, exit_code: int) -> Notice:
    """Of a run that was carried out: its answer, and how its requirements stand."""
    record = findings.record
    short = outcome(findings, sections(findings.derived))
    event = _choose_event(findings, exit_code)
    experiment = str(record.design.get("experiment", ""))
    title = f"{experiment}: {short.verdict or short.answer if event != 'finished' else short.answer}"
    needs = [f"{one.sentence}  {format_verdicts(one)}" for one in findings.requirements]
    lines = [
        title,
        *needs,
        *short.failures,
        *([short.answer] if short.answer not in title else []),
        record.id,
    ]
    return Notice(event, title, "\n".join(lines), record.id, experiment)


def _choose_event(findings: Findings, exit_code: int) -> Event:
    if exit_code == 0:
        return "finished"
    standing = findings.judge_standing()
    return "failed" if standing == "passed" else standing


def describe_error(error: SteelyardError, folder: RunFolder) -> Notice:
    """Of a run that could not be carried out, or was cut off."""
    if isinstance(error, Interrupted):
        event: Event = "interrupted"
    else:
        event = "host-lost" if isinstance(error, HostLost) else "failed"
    title = f"{folder.title}: {error.message}"
    hint = f"\n{error.hint}" if error.hint else ""
    return Notice(event, title, f"{title}{hint}\n{folder.id}", folder.id, folder.title)


def find_regression(record: RunRecord, store: Store) -> Notice | None:
    """What the run's history calls worse now, and did not without this run; None where that is nothing."""
    from steelyard.analysis.history.load import load_history

    experiment = str(record.design.get("experiment", ""))
    history = load_history(store, experiment)
    before = replace(history, every=tuple(run for run in history.every if run.id != record.id))
    known = {(one.cell.key, one.metric.name) for one, _ in before.alarms}
    if all((one.cell.key, one.metric.name) in known for one, _ in history.alarms):
        return None
    title = f"{experiment}: {answer_history(history)}"
    return Notice("regressed", title, f"{title}\nsteelyard history {experiment}", record.id, experiment)
