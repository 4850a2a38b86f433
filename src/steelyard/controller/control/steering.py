"""What every run can be asked: to end, to begin no new trial, to go on, and to measure more.

Each request stands in the journal with who asked, and when, as `action-acknowledged`; and when it is done, as
`run-ended`, `run-suspended`, `run-continued` or `run-extended`. A suspended run keeps its hosts. It gives the
machine's turn back, so that another run may measure meanwhile, unless services are up, which would disturb
that run.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.controller.context import RunContext
from steelyard.controller.control.server import ControlServer
from steelyard.controller.jobs.limit import TimeLimit
from steelyard.controller.machine.machine_lock import MachineLock
from steelyard.controller.signals import StopSignal
from steelyard.errors import HostError
from steelyard.printable import make_one_line

if TYPE_CHECKING:
    from steelyard.controller.deployment.deployment import Deployment

_LONGEST_NAME = 100
_NOBODY = "somebody"


class Steering:
    """Ends a run, or lets no new trial begin, when it is asked to."""

    def __init__(self, context: RunContext, server: ControlServer, stop: StopSignal) -> None:
        self._context, self._stop = context, stop
        self._limit = TimeLimit(None)
        self._lock: MachineLock | None = None
        self._deployment: Deployment | None = None
        self._suspended_by = self._continued_by = ""
        self._may_begin = asyncio.Event()
        self._may_begin.set()
        self._has_trials, self.is_extended = True, False
        server.serve("cancel", self._cancel)
        server.serve("extend", self._extend)
        server.serve("suspend", self._suspend)
        server.serve("continue", self._continue)
        server.report(self._report)

    def attach_resources(self, lock: MachineLock, deployment: Deployment | None, limit: TimeLimit) -> None:
        """From now on there is a turn to give back, unless services are up, and an end of time."""
        self._lock, self._deployment, self._limit = lock, deployment, limit

    async def wait_while_suspended(self) -> None:
        """Return at once where a trial may begin; else when one may again, or time is over."""
        if self._may_begin.is_set():
            return
        living = list(self._deployment.live_services) if self._deployment else []
        lock = None if living else self._lock
        if lock:
            lock.release()
        turn = {"turn": "given back"} if lock else {"turn": "kept", "services": living}
        self._context.note("run-suspended", sync=True, by=self._suspended_by, **turn, **self._context.counts)
        await self._wait_for_continue()
        if lock:
            await lock.acquire()
        by = self._continued_by
        self._context.note("run-continued", sync=True, by=by, **self._context.counts)

    def close_trials(self) -> None:
        """There is no further trial: what is added from now on would not be measured."""
        self._has_trials = False

    async def _wait_for_continue(self) -> None:
        try:
            async with asyncio.timeout(self._limit.seconds_left):
                await self._may_begin.wait()
        except TimeoutError:
            self._continued_by, self._suspended_by = "the time limit", ""
            self._may_begin.set()

    async def _report(self) -> Mapping[str, Any]:
        return {"suspended_by": self._suspended_by, "left": self._limit.seconds_left}

    async def _cancel(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """End in good order, once the answer is on its way."""
        by = self._acknowledge("cancel", facts)
        self._context.folder.mark_cancelled(by)
        asyncio.get_running_loop().call_soon(self._stop.handle_signal, signal.SIGTERM)
        return {"by": by}

    async def _suspend(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The trial that is running is finished first."""
        if not self._may_begin.is_set():
            raise HostError(f"{self._suspended_by} has suspended it already")
        self._suspended_by = self._acknowledge("suspend", facts)
        self._may_begin.clear()
        return {"by": self._suspended_by}

    async def _continue(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._may_begin.is_set():
            raise HostError("it is not suspended")
        self._continued_by, self._suspended_by = self._acknowledge("continue", facts), ""
        self._may_begin.set()
        return {"by": self._continued_by}

    async def _extend(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add levels or repetitions; they are measured once the trial that is running has ended."""
        from steelyard.controller.control.extension import extend_record, write_extension

        if not self._has_trials:
            raise HostError("its last trial is over", hint="extend it when it has ended")
        levels, repeat = dict(facts.get("levels") or {}), facts.get("repeat")
        change = extend_record(self._context.writer, levels, repeat)
        by = self._acknowledge("extend", facts)
        write_extension(self._context.writer, change, by=by)
        self.is_extended = True
        return {"by": by}

    def _acknowledge(self, action: str, facts: Mapping[str, Any]) -> str:
        """Put on record that somebody asked for an action; who it was."""
        by = make_one_line(str(facts.get("by") or _NOBODY))[:_LONGEST_NAME]
        asked = facts.get("asked")
        known = {"asked": asked} if isinstance(asked, int | float) else {}
        self._context.note("action-acknowledged", sync=True, action=action, by=by, **known)
        return by
