"""`--site rack:NAME,NAME`"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from steelyard.plugin.site import Capability, Site, SiteOptions

if TYPE_CHECKING:  # a plan needs no hosts, nor asyncio
    from steelyard.plugin.host import Host
    from steelyard.plugin.transport import Token


class RackOptions(SiteOptions):
    """Which hosts there are."""

    hosts: list[str] = Field(["alpha"], min_length=1, max_length=250, description="Names of the hosts")


class Rack(Site[RackOptions]):
    """Hosts with names of your own, all played by this machine: a rehearsal for `--site ssh`.

    `rack:alpha,beta` has two, at 127.0.0.1 and 127.0.0.2. They share cores, memory and disk.
    """

    Options = RackOptions
    install_policy = "here"

    @classmethod
    def parse_shorthand(cls, argument: str) -> Mapping[str, Any]:
        """What stands after `rack:`."""
        return {"hosts": argument.split(",")}

    def size(self) -> int:
        """As many as there are names."""
        return len(self.options.hosts)

    def capabilities(self) -> frozenset[Capability]:
        """They have one file system."""
        return frozenset({"shared-files"})

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """The first of them, always in the same order."""
        return self._lease(token, log, self.options.hosts[:hosts])

    @asynccontextmanager
    async def _lease(self, token: Token, log: Path, names: list[str]) -> AsyncIterator[tuple[Host, ...]]:
        from steelyard.plugin.transport import Lease, LocalHost

        async with Lease.open(token, log=log) as lease:  # whatever ends this block ends all that ran in it
            yield tuple(LocalHost(lease, name, f"127.0.0.{n}") for n, name in enumerate(names, 1))
