"""This machine, once or as several hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from steelyard.plugin.site import Capability, Site, SiteOptions

if TYPE_CHECKING:
    from steelyard.plugin.host import Host
    from steelyard.plugin.transport import Token

MOST = 250


class LocalOptions(SiteOptions):
    """How many hosts this machine plays."""

    hosts: int = Field(1, ge=1, le=MOST, description="Number of hosts, each with its own loopback address")


class Local(Site[LocalOptions]):
    """The machine that the controller runs on.

    `local:4` turns it into four hosts, so that a cluster fits on a laptop: their addresses are 127.0.0.1 to
    127.0.0.4, and each has its own scratch directory. They share cores, memory and disk, so their figures are
    not those of separate machines.
    """

    Options = LocalOptions
    install_policy = "here"
    examples = ({"hosts": 4},)

    def size(self) -> int:
        """As many as were asked for."""
        return self.options.hosts

    def capabilities(self) -> frozenset[Capability]:
        """One file system, of course."""
        return frozenset({"shared-files"})

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """This machine, with one minder for all of its hosts."""
        return self._lease(token, log, hosts or self.options.hosts)

    @asynccontextmanager
    async def _lease(self, token: Token, log: Path, hosts: int) -> AsyncIterator[tuple[Host, ...]]:
        from steelyard.plugin.transport import Lease, LocalHost

        async with Lease.open(token, log=log) as lease:
            names = ["local"] if self.options.hosts == 1 else [f"local-{n}" for n in range(hosts)]
            yield tuple(LocalHost(lease, name, f"127.0.0.{n}") for n, name in enumerate(names, 1))
