"""Where the user's cache lies on a host."""

from __future__ import annotations

from pathlib import PurePosixPath

from steelyard.errors import HostError
from steelyard.hosts.base import Host

_CACHE = ("sh", "-c", 'printf %s "${XDG_CACHE_HOME:-$HOME/.cache}"')


async def find_cache(host: Host) -> PurePosixPath:
    """Steelyard's own directory in it, which may not be there yet. Raises HostError."""
    cache = await host.capture(_CACHE)
    if not cache:
        hint = "install it by hand on that host"
        raise HostError(f"host {host.name} has no home directory", hint=hint)
    return PurePosixPath(cache) / "steelyard"
