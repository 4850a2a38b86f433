"""Act on a run from outside: look at it, cancel, suspend, continue."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from steelyard.controller.loop import complete
from steelyard.errors import ControllerUnreachable, HostError, UsageError
from steelyard.hosts.minder.processes import read_process
from steelyard.hosts.token import Token
from steelyard.store.layout import RunFolder, account_name
from steelyard.store.reader import RunRecord
from steelyard.store.writer import is_live
from steelyard.units import format_count, show_span
from steelyard.untrusted import read_content

PATIENCE, LOOK_EVERY = 10.0, 0.1
"""How long a controller that was signalled may take to end, and how often that is looked at, in seconds."""


def status(folder: RunFolder) -> dict[str, Any]:
    """How a run stands, in sentences: `run`, `job` (what the scheduler says), `last` (the newest trial)."""
    record = RunRecord(folder)
    glance, counts = record.glance(), record.counts
    report: dict[str, Any] = {
        "state": glance.state,
        **counts,
        "run": f"run {folder.id} is {glance.state}: {format_count(counts['done'], 'trial')} done,"
        f" {counts['failed']} failed",
    }
    if glance.state == "suspended":
        report["run"] += f"; {_describe_suspension(record)}"
    if record.trials:
        trial = record.trials[-1]
        ago = show_span(max(0.0, time.time() - trial.started - trial.result.seconds))
        report["last"] = f"the last trial, {trial.result.trial.describe()}, ended {ago} ago"
    if any(line["kind"] == "run-submitted" for line in record.journal):
        report["job"] = _query_job(record)
    return report


def _describe_suspension(record: RunRecord) -> str:
    line = next(line for line in reversed(record.journal) if line["kind"] == "run-suspended")
    ago = show_span(max(0.0, time.time() - float(line["wall"])))
    kept = f"kept, as {', '.join(line.get('services') or ())} stays up"
    turn = "given back" if line.get("turn") == "given back" else kept
    return f"{line.get('by')} suspended it {ago} ago, and this machine's turn was {turn}"


def steer(folder: RunFolder, verb: str, *, force: bool = False, by: str = "") -> str:
    """`cancel`, `suspend` or `continue` a run; what came of it. Raises UsageError, HostError.

    A run in a batch job is steered through its scheduler, any other through its controller. `force` ends a
    controller on this machine that acknowledges nothing. `by`: who asks; by default, our account.
    """
    record = RunRecord(folder)
    if any(line["kind"] == "run-submitted" for line in record.journal):
        return _cancel_job(record) if verb == "cancel" else _query_job(record, verb)
    if not is_live(folder):
        state = record.glance().state
        hint = "" if state == "complete" else "`steelyard resume` continues it"
        raise UsageError(f"run {folder.id} is not in progress: it is {state}", hint=hint)
    if force:
        return _end_by_force(folder)
    ask(folder, verb, by=by)
    return f"run {folder.id}: {_ACKNOWLEDGED[verb]}"


def ask(folder: RunFolder, verb: str, *, by: str = "", **more: Any) -> Mapping[str, Any]:
    """Have the controller acknowledge a request. Raises HostError where it does not within 10 s."""
    from steelyard.controller.control.socket import call, read_control_address

    if read_control_address(folder.control).address.startswith("127."):
        _read_token(folder)
    facts = {"by": by or account_name(os.geteuid()), "asked": time.time(), **more}
    try:
        return complete(call(folder.control, verb, **facts))
    except ControllerUnreachable as error:
        hint = f"`steelyard cancel --force {folder.id}` ends it all the same; `steelyard resume` continues it"
        raise HostError(f"run {folder.id} did not acknowledge: {error.message}", hint=hint) from error
    except HostError as error:
        raise HostError(f"run {folder.id} cannot {verb}: {error.message}", hint=error.hint) from error


_ACKNOWLEDGED: Mapping[str, str] = {
    "cancel": "it acknowledged the request, and is shutting down cleanly",
    "suspend": "no new trial begins, and one that is running is finished first; `steelyard continue` goes on",
    "continue": "trials begin again",
}


def _cancel_job(record: RunRecord) -> str:
    record.folder.mark_cancelled(account_name(os.geteuid()))
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


def _end_by_force(folder: RunFolder) -> str:
    """Signal the controller, and kill it when it is still there after a while; nothing is left either way."""
    token = _read_token(folder)
    folder.mark_cancelled(account_name(os.geteuid()))
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal_controller(token, number)
        if _ends_within(folder, PATIENCE):
            break
    how = "it shut down cleanly" if number is signal.SIGTERM else "its controller was killed"
    return f"run {folder.id}: {how}"


def _ends_within(folder: RunFolder, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while is_live(folder):
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_EVERY)
    return True


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


def _signal_controller(token: Token, number: signal.Signals) -> None:
    """Signal the controller, and never a process that got its pid later."""
    try:
        pidfd = os.pidfd_open(token.controller)
    except ProcessLookupError:
        return
    try:
        controller = read_process(token.controller)
        if controller and controller.start == token.controller_start:
            signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return
    finally:
        os.close(pidfd)
