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
from steelyard.remote.minder.processes import read_process
from steelyard.remote.token import Token
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
        report["job"] = _job_sentence(record)
    return report


def steer(folder: RunFolder, verb: str) -> str:
    """`cancel`, `suspend` or `continue` a run; what came of it. Raises UsageError, HostError."""
    record = RunRecord(folder)
    if any(line["kind"] == "run-submitted" for line in record.journal):
        return _cancel_job(record) if verb == "cancel" else _job_sentence(record, verb)
    if verb != "cancel":
        raise UsageError(
            f"run {folder.id} is in no job of a batch scheduler, so it cannot {verb}",
            hint="Ctrl-C or `steelyard cancel` ends it in good order, and `steelyard resume` goes on",
        )
    return _end_controller(folder)


def _cancel_job(record: RunRecord) -> str:
    _mark_cancelled(record.folder)
    try:
        return _job_sentence(record, "cancel")
    except HostError:
        record.folder.cancelled.unlink(missing_ok=True)
        raise


def _job_sentence(record: RunRecord, verb: str | None = None) -> str:
    """Ask the scheduler; where a verb is given, after having it done."""
    from steelyard.controller.jobs import RunJob

    async def ask() -> str:
        job = RunJob(record)
        return (await (job.act(verb) if verb else job.look())).sentence

    try:
        return complete(ask())
    except HostError as error:
        if verb:
            raise
        return f"its job cannot be asked for: {error.message}"


def _end_controller(folder: RunFolder) -> str:
    if not is_live(folder):
        state = RunRecord(folder).glance().state
        hint = "" if state == "complete" else "`steelyard resume` goes on with it"
        raise UsageError(f"run {folder.id} is not going on: it is {state}", hint=hint)
    try:
        token = Token.parse(str(json.loads(read_content(folder.control))["token"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise HostError(
            f"who drives run {folder.id} cannot be read from {folder.control}: {error}"
        ) from error
    if token is None or not token.here():
        raise HostError(f"run {folder.id} is driven from another machine or container; cancel it there")
    _mark_cancelled(folder)
    _signal_controller(token)
    return f"run {folder.id} was asked to stop; it ends in good order"


def _mark_cancelled(folder: RunFolder) -> None:
    """Say in the run's folder that somebody wanted this end, so that nobody takes it for a failure."""
    with suppress(OSError):  # of somebody else, or full: then it ends as it would by a signal
        folder.cancelled.write_text(account_name(os.geteuid()), "utf-8")


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
