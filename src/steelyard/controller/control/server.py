"""How commands reach a run while it lives: the table of its requests, and where it listens.

Each part of a run serves the requests that concern it: `steering` every run's, `holding` those for services
that others use. The protocol is `control.socket`'s.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from steelyard.controller.context import RunContext
from steelyard.controller.control.socket import listen
from steelyard.errors import HostError, StoreError

Request = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
Report = Callable[[], Awaitable[Mapping[str, Any]]]


class ControlServer:
    """Answers requests by the part of the run that each concerns; `status` by what all parts report."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._requests: dict[str, Request] = {"status": self._report_status}
        self._reports: list[Report] = []
        self._facts: dict[str, Any] = {}

    def serve(self, verb: str, request: Request) -> None:
        """From now on, answer this request so. It raises SteelyardError with what to tell who asks."""
        self._requests[verb] = request

    def report(self, report: Report) -> None:
        """From now on, say this in `status`, too; later reports win."""
        self._reports.append(report)

    @asynccontextmanager
    async def accept_requests(self, address: str, **facts: Any) -> AsyncIterator[None]:
        """Be asked, for as long as the block lasts. `facts` stand in `control.json` beside ours.

        Where nobody can listen, that is a warning: the run goes on, and ends by signal or time limit.
        """
        self._facts = facts
        async with AsyncExitStack() as stack:
            try:
                announced = await stack.enter_async_context(listen(address, self._handle_request))
            except HostError as error:
                self._context.warn(f"{error.message}; only its scheduler or a signal can end this run early")
            else:
                self.announce(socket=announced._asdict())
            yield

    def announce(self, **more: Any) -> None:
        """In a job, on the disk when this returns, since others read it through a file server."""
        self._facts |= more
        self._context.writer.announce(**self._facts)
        if not self._context.site.site.current_job():
            return
        file = os.open(self._context.folder.control, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        except OSError as error:
            raise StoreError(f"cannot write {self._context.folder.control}: {error.strerror}") from error
        finally:
            os.close(file)

    async def _handle_request(self, verb: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        if verb not in self._requests:
            raise HostError(f"unknown request '{verb[:40]}'; this run accepts {', '.join(self._requests)}")
        return await self._requests[verb](facts)

    async def _report_status(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        status: dict[str, Any] = {}
        for report in self._reports:
            status |= await report()
        return status
