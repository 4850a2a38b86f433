"""Many far hosts reached at the same time, and left at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from steelyard.errors import HostError
from steelyard.hosts.shell import ShellHost

AnyHost = TypeVar("AnyHost", bound=ShellHost)

AT_ONCE = 32
"""So many are reached at the same time; more would only wait for each other."""


@asynccontextmanager
async def connect_all(
    hosts: Sequence[AnyHost], *, at_once: int = AT_ONCE
) -> AsyncIterator[tuple[AnyHost, ...]]:
    """These hosts, connected, for as long as the block lasts.

    When some cannot be had the others are left again, and one HostError names each with its reason.
    """
    gate = asyncio.Semaphore(at_once)

    async def reach(host: AnyHost) -> None:
        async with gate:
            await host.connect()

    try:
        outcomes = await asyncio.gather(*map(reach, hosts), return_exceptions=True)
        _raise_errors([error for error in outcomes if error is not None], len(hosts))
        yield tuple(hosts)
    finally:
        await asyncio.gather(*(host.leave() for host in hosts))


def _raise_errors(errors: Sequence[BaseException], hosts: int) -> None:
    """Raise what is no HostError as it is, and the rest as one."""
    reasons = []
    for error in errors:
        if not isinstance(error, HostError):
            raise error
        reasons.append(error)
    if not reasons:
        return
    if len(reasons) == 1:
        raise reasons[0]
    lines = "".join(f"\n  {error.message}" for error in reasons)
    hints = "\n".join(dict.fromkeys(error.hint for error in reasons if error.hint))
    raise HostError(f"{len(reasons)} of {hosts} hosts could not be reached:{lines}", hint=hints)
