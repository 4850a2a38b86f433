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
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import HostError, SteelyardError
from steelyard.hosts.base import Host
from steelyard.hosts.call import call
from steelyard.hosts.tasks import run_to_end
from steelyard.model.command import Command
from steelyard.model.engine import JobQueue
from steelyard.provision.lease_files import LeaseFile
from steelyard.spec.engines import find_engine
from steelyard.store.layout import RunFolder

_EMPTY_WITHIN = 60.0  # seconds
_ANSWER_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class JobLease:
    """The jobs that bear a name in the queue of an engine; `folder` is their run's."""

    run: str
    folder: str
    engine: str
    name: str

    @property
    def id(self) -> str:
        """Their name."""
        return self.name


class JobLeaseFile(LeaseFile[JobLease]):
    """Such a lease with its file, locked by us."""

    Lease = JobLease
    schema, suffix = 1, ".queue"
    subject, without = "what is submitted", "no job is submitted"
    unreadable = "its jobs end by themselves; then remove the file"


@asynccontextmanager
async def hold_queue(
    host: Host, queue: JobQueue | None, folder: RunFolder, warn: Callable[[str], None]
) -> AsyncIterator[None]:
    """For as long as a phase may have jobs; those that are left when the block ends are cancelled."""
    if queue is None:
        yield
        return
    lease = JobLease(folder.id, str(folder.path), queue.engine, queue.name)
    file = JobLeaseFile.create(lease) if host.shares_files else None
    try:
        yield
    finally:
        is_empty = await run_to_end(_empty_queue(host, queue))
        if file:
            if is_empty:
                file.remove()
            file.close()
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


def cancel_left(is_dead: Callable[[RunFolder], bool]) -> tuple[list[str], list[str]]:
    """Cancel what dead runs of this user left in queues: sentences on that, and on what could not be done."""
    cancelled: list[str] = []

    def cancel(file: JobLeaseFile) -> None:
        lease = file.lease
        try:
            if asyncio.run(_cancel(lease.engine, lease.name)):
                cancelled.append(f"{lease.name} of run {lease.run} in {lease.engine}")
        except (SteelyardError, OSError) as error:
            raise HostError(f"jobs {lease.name} in {lease.engine}: {error}") from error
        file.remove()

    problems = JobLeaseFile.give_back(lambda lease: is_dead(RunFolder(Path(lease.folder))), cancel)
    return cancelled, problems


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
