"""Jobs that a workload has in the queue of a batch engine: none of them stays when its phase ends.

A file beside those of rented machines names them while the phase lasts, so that `clean` and `resume` find
what a controller that was killed has left::

    ~/.local/state/steelyard/leases/<run>.<name>.queue
        {"schema": 1, "run": …, "folder": …, "engine": "slurm", "name": "sy-55ba87c3f7d3"}

It is written where the engine is on the controller's own machine. Elsewhere, jobs end by themselves: each of
them looks for its scratch, which is gone with its run.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from steelyard.errors import HostError, SteelyardError
from steelyard.hosts.base import Host
from steelyard.hosts.call import call
from steelyard.hosts.tasks import run_to_end
from steelyard.model.command import Command
from steelyard.model.engine import JobQueue
from steelyard.provision.lease_files import create_locked, leases_folder, open_abandoned, read_entries
from steelyard.spec.engines import find_engine
from steelyard.store.layout import RunFolder

_SCHEMA, _SUFFIX = 1, ".queue"
_EMPTY_WITHIN = 60.0  # seconds
_ANSWER_WITHIN = 30.0


@asynccontextmanager
async def hold_queue(
    host: Host, queue: JobQueue | None, folder: RunFolder, warn: Callable[[str], None]
) -> AsyncIterator[None]:
    """For as long as a phase may have jobs; those that are left when the block ends are cancelled."""
    if queue is None:
        yield
        return
    lease = _create_lease(queue, folder) if host.shares_files else None
    try:
        yield
    finally:
        is_empty = await run_to_end(_empty_queue(host, queue))
        if lease:
            path, file = lease
            os.close(file)
            if is_empty:
                path.unlink(missing_ok=True)
        if not is_empty:
            warn(f"jobs '{queue.name}' may still be in the queue of {queue.engine}: look there")


async def _empty_queue(host: Host, queue: JobQueue) -> bool:
    """Whether none is left, after some were perhaps cancelled; not where the engine does not answer."""
    deadline, pause = time.monotonic() + _EMPTY_WITHIN, 0.05
    if not await host.which(queue.list_unfinished.argv[0]):
        return True  # there is no such engine
    try:
        while said := (await _ask(host, queue.list_unfinished)).strip():
            if time.monotonic() > deadline:
                return False
            if pause < 0.1:
                await _ask(host, queue.cancel)
            await asyncio.sleep(pause)
            pause = min(2 * pause, 2.0)
    except HostError:
        return False
    return not said


async def _ask(host: Host, command: Command) -> str:
    said = await host.capture(command.argv, seconds=_ANSWER_WITHIN)
    if said is None:
        raise HostError(f"{command.argv[0]} does not answer on {host.name}")
    return said


def _create_lease(queue: JobQueue, folder: RunFolder) -> tuple[Path, int]:
    path = leases_folder() / f"{folder.id}.{queue.name}{_SUFFIX}"
    facts = {"run": folder.id, "folder": str(folder.path), "engine": queue.engine, "name": queue.name}
    try:
        return path, create_locked(path, {"schema": _SCHEMA, **facts})
    except OSError as error:
        hint = "set XDG_STATE_HOME to use another directory; without this file, no job is submitted"
        message = f"{path.parent}: cannot record what is submitted: {error.strerror}"
        raise HostError(message, hint=hint) from error


def cancel_left(is_dead: Callable[[RunFolder], bool]) -> tuple[list[str], list[str]]:
    """Cancel what dead runs of this user left in queues: sentences on that, and on what could not be done."""
    cancelled: list[str] = []
    problems: list[str] = []
    for path in sorted(leases_folder().glob(f"*{_SUFFIX}")):
        try:
            if (file := open_abandoned(path)) is None:
                continue
            try:
                lease = _read_lease(path, file)
                if is_dead(RunFolder(Path(lease["folder"]))):
                    if asyncio.run(_cancel(lease["engine"], lease["name"])):
                        cancelled.append(f"{lease['name']} of run {lease['run']} in {lease['engine']}")
                    path.unlink(missing_ok=True)
            finally:
                os.close(file)
        except (SteelyardError, OSError) as error:
            hint = getattr(error, "hint", "")
            problems.append(f"jobs of {path.name}: {error}" + (f"; {hint}" if hint else ""))
    return cancelled, problems


def _read_lease(path: Path, file: int) -> dict[str, str]:
    opening = read_entries(file)[0]
    lease = {name: opening.get(name) for name in ("run", "folder", "engine", "name")}
    if opening.get("schema") != _SCHEMA or not all(isinstance(value, str) for value in lease.values()):
        raise HostError(f"{path} was written by another version of Steelyard; its jobs end by themselves")
    return {name: str(value) for name, value in lease.items()}


async def _cancel(name_of_engine: str, name: str) -> bool:
    """Whether there were any. Raises SteelyardError."""
    engine = find_engine(name_of_engine)
    if not (await _call(engine.list_unfinished(name))).strip():
        return False
    await _call(engine.cancel_all(name))
    return True


async def _call(command: Command) -> str:
    answer: Any = await call(command.argv)
    if answer.has_failed:
        raise HostError(f"{command.argv[0]}: {answer.complaint}")
    return str(answer.stdout)
