"""Act on a run from outside: look at it, cancel, suspend, continue."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from typing import Any

from steelyard.controller.loop import complete
from steelyard.errors import HostError, UsageError
from steelyard.hosts.minder.processes import read_process
from steelyard.hosts.token import Token
from steelyard.store.layout import RunFolder, account_name
from steelyard.store.reader import RunRecord
from steelyard.store.writer import is_live
from steelyard.units import show_span
from steelyard.untrusted import read_content


def status(folder: RunFolder) -> dict[str, Any]:
    """How a run stands, in sentences: `run`, `job` (what the scheduler says), `last` (the newest trial)."""
    record = RunRecord(folder)
    glance, counts = record.glance(), record.counts
    report: dict[str, Any] = {
        "state": glance.state,
        **counts,
        "run": f"run {folder.id} is {glance.state}: {counts['done']} trials done, {counts['failed']} failed",
    }
    if record.trials:
        trial = record.trials[-1]
        ago = show_span(max(0.0, time.time() - trial.started - trial.result.seconds))
        report["last"] = f"the last trial, {trial.result.trial.cell.key}, ended {ago} ago"
    if any(line["kind"] == "run-submitted" for line in record.journal):
        report["job"] = _query_job(record)
    return report


def steer(folder: RunFolder, verb: str) -> str:
    """`cancel`, `suspend` or `continue` a run; what came of it. Raises UsageError, HostError."""
    record = RunRecord(folder)
    if any(line["kind"] == "run-submitted" for line in record.journal):
        return _cancel_job(record) if verb == "cancel" else _query_job(record, verb)
    if verb != "cancel":
        raise UsageError(
            f"run {folder.id} is not in a batch job, so it cannot {verb}",
            hint="Ctrl-C or `steelyard cancel` stops it cleanly, and `steelyard resume` continues it",
        )
    return _end_controller(folder)


def _cancel_job(record: RunRecord) -> str:
    _mark_cancelled(record.folder)
    try:
        return _query_job(record, "cancel")
    except HostError:
        record.folder.cancel_file.unlink(missing_ok=True)
        raise


def _query_job(record: RunRecord, verb: str | None = None) -> str:
    """Ask the scheduler; where a verb is given, after having it done."""
    from steelyard.controller.jobs.run_job import RunJob

    async def ask() -> str:
        job = RunJob(record)
        return (await (job.act(verb) if verb else job.query())).sentence

    try:
        return complete(ask())
    except HostError as error:
        if verb:
            raise
        return f"cannot query its job: {error.message}"


def _end_controller(folder: RunFolder) -> str:
    if not is_live(folder):
        state = RunRecord(folder).glance().state
        hint = "" if state == "complete" else "`steelyard resume` continues it"
        raise UsageError(f"run {folder.id} is not in progress: it is {state}", hint=hint)
    token = _read_token(folder)
    _mark_cancelled(folder)
    _signal_controller(token)
    return f"run {folder.id} was asked to stop; it is shutting down cleanly"


def _read_token(folder: RunFolder) -> Token:
    """The token of the run's controller on this machine. Raises HostError."""
    try:
        token = Token.from_text(str(json.loads(read_content(folder.control))["token"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise HostError(
            f"cannot read the controller of run {folder.id} from {folder.control}: {error}"
        ) from error
    if token is None or not token.is_local():
        raise HostError(f"run {folder.id} is controlled from another machine or container; cancel it there")
    return token


def _mark_cancelled(folder: RunFolder) -> None:
    """Say in the run's folder that somebody wanted this end, so that nobody takes it for a failure."""
    with suppress(OSError):  # of somebody else, or full: then it ends as it would by a signal
        folder.cancel_file.write_text(account_name(os.geteuid()), "utf-8")


def _signal_controller(token: Token) -> None:
    """Signal the controller, and never a process that got its pid later."""
    try:
        pidfd = os.pidfd_open(token.controller)
    except ProcessLookupError:
        return
    try:
        controller = read_process(token.controller)
        if controller and controller.start == token.controller_start:
            signal.pidfd_send_signal(pidfd, signal.SIGTERM)
    except ProcessLookupError:
        return
    finally:
        os.close(pidfd)
