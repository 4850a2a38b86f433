"""Install tools on the hosts of a site; bring a run's hosts those that come with the package."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from steelyard.controller.host_installer import HostInstaller, Say
from steelyard.errors import SteelyardError, UsageError
from steelyard.hosts.base import Host
from steelyard.hosts.token import Token
from steelyard.model.tool import Tool
from steelyard.spec.sites import NamedSite


async def install_on_hosts(named: NamedSite, tools: Sequence[Tool], say: Say, *, dry_run: bool) -> None:
    """Install what is missing, on all hosts at once; `say` is told each command before it runs.

    Raises UsageError where the site's hosts come and go, and SteelyardError with what failed on which host.
    """
    if named.site.install_policy != "hosts":
        hint = "install it where their jobs or machines find it: in their shared home, or in their image"
        raise UsageError(f"cannot install on site {named.name}: its hosts exist only during a run", hint=hint)
    with tempfile.TemporaryDirectory(prefix="steelyard-install-") as folder:
        async with named.site.lease(Token.of("install"), Path(folder) / "log", None) as hosts:
            works = (HostInstaller(host, Path(folder), say, dry_run).install(tools) for host in hosts)
            ends = await asyncio.gather(*works, return_exceptions=True)
    _raise_failures(ends)


async def bring_bundled(hosts: Sequence[Host], tools: Sequence[Tool]) -> None:
    """Copy programs of ours to the hosts of a run, where they are missing. Raises SteelyardError."""
    bundled = [tool for tool in tools if tool.bundled]
    if not bundled:
        return
    with tempfile.TemporaryDirectory(prefix="steelyard-install-") as folder:
        works = (HostInstaller(host, Path(folder), _ignore, dry_run=False).install(bundled) for host in hosts)
        _raise_failures(await asyncio.gather(*works, return_exceptions=True))


def _ignore(_: str) -> None:
    """A run does not tell of it."""


def _raise_failures(ends: Sequence[BaseException | None]) -> None:
    """Raise one error for those of all hosts; what is no failure of a host comes as it is."""
    failures = [end for end in ends if end]
    expected = [end for end in failures if isinstance(end, SteelyardError)]
    if other := next((end for end in failures if not isinstance(end, SteelyardError)), None):
        raise other
    if expected:
        hint = next((end.hint for end in expected if end.hint), "")
        raise SteelyardError("\n".join(map(str, expected)), hint=hint)
