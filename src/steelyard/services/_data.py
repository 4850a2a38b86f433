"""A directory for data that an unprivileged server may write to, also where root starts it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, NamedTuple

from steelyard.model.command import Command
from steelyard.remote.base import Host
from steelyard.remote.minder import SCRATCH_MARKER
from steelyard.services.base import Service

_USER = "nobody"
_MAKE = f"""
mkdir -p data
[ "$(id -u)" = 0 ] || exit 0
group=$(id -gn {_USER}); chown {_USER} . data
top=$PWD  # the run's scratch is closed to others; up to its marker it is ours to open for passage
until [ -e "$top/$MARKER" ] || [ "$top" = / ]; do top=$(dirname "$top"); done
[ "$top" = / ] || {{
    below=$PWD; chmod a+x "$top"
    until [ "$below" = "$top" ]; do chmod a+x "$below"; below=$(dirname "$below"); done
}}
setpriv --reuid={_USER} --regid="$group" --clear-groups sh -c ': > "$1/data/.writable"' sh "$PWD" || {{
    echo "the user {_USER} cannot write to $PWD/data: choose a scratch directory that others may enter" >&2
    exit 1
}}
rm -f data/.writable; echo {_USER} "$group"
"""


class Data(NamedTuple):
    """Where data lies. `user` and `group` are those that a server of root must become; empty elsewhere."""

    path: PurePosixPath
    user: str = ""
    group: str = ""

    def as_its_user(self, *argv: str) -> Command:
        """A server's command, which gives up root for good where it has it."""
        if not self.user:
            return Command(argv)
        return Command(argv).wrapped(
            "setpriv", f"--reuid={self.user}", f"--regid={self.group}", "--clear-groups"
        )


async def make_data(service: Service[Any], host: Host) -> Data:
    """Make the directory in the service's scratch. Raises HostError when only root could write to it."""
    said = (await service.small(host, "data", _MAKE, MARKER=SCRATCH_MARKER)).split()
    return Data(service.scratch(host) / "data", *said[:2])


def allowed(addresses: tuple[str, ...], host: Host) -> list[str]:
    """Addresses that may connect to a host: the clients' and its own.

    Linux connects to any loopback address from 127.0.0.1, unless a client chooses another.
    """
    loopback = ["127.0.0.1"] if host.address.startswith("127.") else []
    return list(dict.fromkeys([*addresses, host.address, *loopback]))
