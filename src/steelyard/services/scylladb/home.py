"""Where ScyllaDB lies on a host: it is in no registry, so nothing is fetched or brought there."""

from __future__ import annotations

from steelyard.plugin import HostError, Tool
from steelyard.plugin.host import Host

SCYLLA = Tool("scylla", places=("/opt/scylladb/bin",))
_FIND = """
for scylla in "${SCYLLA_HOME:-/nowhere}/bin/scylla" "$(command -v scylla)" /opt/scylladb/bin/scylla; do
    [ -f "$scylla" ] && [ -x "$scylla" ] && echo "$scylla" && exit
done
exit 0
"""


async def find_program(host: Host) -> str:
    """Its path on a host. Raises HostError with how to get it."""
    path = (await host.capture(("sh", "-c", _FIND)) or "").strip()
    if not path:
        raise HostError(
            f"ScyllaDB is not installed on {host.name} ({host.address})",
            hint="install its packages there (https://docs.scylladb.com), or set SCYLLA_HOME",
        )
    return path
