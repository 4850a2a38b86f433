"""A run against its history: where the baseline is found, and how an alarm is confirmed."""

from __future__ import annotations

from steelyard.analysis.findings import Findings
from steelyard.analysis.history.baseline import SEGMENT, TAG, select_baseline
from steelyard.analysis.history.load import load_history
from steelyard.cli.finish import finish_findings
from steelyard.cli.options import find_run
from steelyard.cli.progress import make_observer
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError
from steelyard.spec.stores import choose_store
from steelyard.stats.verdict import Verdict
from steelyard.store.reader import RunRecord, glance


def find_baseline(store: str | None, judged: str, after: str | None, against: str) -> tuple[str, str]:
    """Both sides, the baseline from the history of the run that is judged."""
    if after is not None:
        raise UsageError("--against finds the baseline by itself; name only the run that is judged")
    ids = [find_run(store, name.strip()).id for name in judged.split(",")]
    if against != SEGMENT and not against.startswith(TAG):
        return against, ",".join(ids)
    where = choose_store(store)
    history = load_history(where, glance(where.find(ids[0])).title)
    runs = select_baseline(history, ids, against)
    return ",".join(run.id for run in runs), ",".join(ids)


def confirm_alarm(store: str | None, record: RunRecord, *, measure: bool) -> int:
    """Measure both builds again, side by side, where the file names them; the exit code."""
    if not record.design.get("compare"):
        echo(
            "not confirmed: name both builds by `compare:` in the file, and they are measured in turn",
            err=True,
        )
        return 1
    if not measure:
        echo("not confirmed: --no-confirm was given", err=True)
        return 1
    from steelyard.controller.confirmation import confirm

    echo("measuring both builds again, in turn, to confirm it", err=True)
    folder = confirm(record.folder, choose_store(store), observer=make_observer(quiet=False))
    findings = Findings(RunRecord(folder))
    finish_findings(findings, as_json=False, undecided="fail")
    gated = findings.comparison
    verdict = gated.comparison.worst_verdict() if gated else None
    if verdict is Verdict.WORSE or gated is None:
        echo("confirmed: it is worse side by side, too", err=True)
        return 1
    echo(f"not confirmed: side by side, {verdict or 'nothing could be compared'}", err=True)
    return 0 if verdict in (Verdict.NO_DIFFERENCE, Verdict.BETTER) else 1
