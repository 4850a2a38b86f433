"""A directory for data that a server may write to, and the account under which it runs where root starts it.

Each server of root gets a user id and a group id of its own that nobody has: no account is made. So it cannot
touch the files or processes of another, and what it reads is ours: its directory in the scratch is root's,
and only `data` in it is the server's. Other directories in it may be handed to the server and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from steelyard.hosts.base import Host
from steelyard.hosts.minder import SCRATCH_MARKER
from steelyard.hosts.unused.accounts import CHOOSE, draw_accounts, write_prefix
from steelyard.model.command import Command
from steelyard.services.base import Service
from steelyard.snapshots.store import Runner

_TEMPORARY = PurePosixPath("/tmp")  # noqa: S108 - where every server may keep temporary files
_CHOOSE = f"""
[ "$(id -u)" = 0 ] || exit 0
{CHOOSE}"""
_MAKE = f"""
mkdir -m 0700 data{_CHOOSE}chmod 0711 .
top=$PWD  # the run's scratch is closed to others; up to its marker it is ours to open for passage
until [ -e "$top/$MARKER" ] || [ "$top" = / ]; do top=$(dirname "$top"); done
[ "$top" = / ] || {{
    below=$PWD; chmod a+x "$top"
    until [ "$below" = "$top" ]; do chmod a+x "$below"; below=$(dirname "$below"); done
}}
chown "$account:$account" data
setpriv --reuid="$account" --regid="$account" --clear-groups sh -c ': > "$1/data/.writable"' sh "$PWD" || {{
    echo "the server's user $account cannot write to $PWD/data: choose a scratch directory that others can" \
        "access, for example STEELYARD_SCRATCH=/var/tmp" >&2
    exit 1
}}
rm -f data/.writable; echo "$account"
"""
_LEND = """
mkdir -p -m 0711 "${1%/*}"; rm -rf "$1"; mkdir -m 0700 "$1"
[ -z "$2" ] || chown "$2:$2" "$1"
"""
# From the top, so that nothing below can be exchanged any more; then whatever the server put there is known.
_TAKE_BACK = """
find "$1" -type d -exec chown -h 0:0 {} \\;
odd=$(find "$1" ! -type d ! \\( -type f -user "$2" \\) | head -n 3)
[ -z "$odd" ] || { echo "the server left entries that are not its own files:" $odd >&2; exit 1; }
"""
# Its own door last: until then the server cannot enter, and so exchange what is being given.
_GIVE = """
find "$1" -mindepth 1 -exec chown -h "$2:$2" {} +
chown -h "$2:$2" "$1"
"""


class DataDirectory(NamedTuple):
    """Where data lies. `account` is the user and group id that a server of root must take; empty
    elsewhere."""

    path: PurePosixPath
    account: str = ""

    @property
    def account_prefix(self) -> tuple[str, ...]:
        """Words before a command that give up root for good, where there is root to give up."""
        return write_prefix(self.account) if self.account else ()

    def account_command(self, *argv: str, **env: str) -> Command:
        """A server's command; also for whatever we do in a directory that the server writes to, since it may
        have put links there."""
        temporary = {"TMPDIR": str(self.path)} if self.account else {}
        return Command((*self.account_prefix, *argv), {**temporary, **env})


async def lend(run: Runner, data: DataDirectory, place: PurePosixPath) -> None:
    """Make an empty directory that the server may write to, beside its data; its parent stays ours."""
    await run(Command(("sh", "-eu", "-c", _LEND, "sh", str(place), data.account)))


async def take_back(run: Runner, data: DataDirectory, place: PurePosixPath) -> None:
    """Have what was lent to ourselves; the files stay the server's. Raises HostError for links and the like,
    which could have root read what is not the server's.
    """
    if data.account:
        await run(Command(("sh", "-eu", "-c", _TAKE_BACK, "sh", str(place), data.account)))


async def give(run: Runner, data: DataDirectory, place: PurePosixPath) -> None:
    """Let the server have a directory of ours, of mode 0700, for good, with all that is in it."""
    if data.account:
        await run(Command(("sh", "-eu", "-c", _GIVE, "sh", str(place), data.account)))


async def make_data(service: Service[Any], hosts: Sequence[Host]) -> dict[str, DataDirectory]:
    """Make the directory in the service's scratch on each host. Raises HostError when only root could write
    to it, or no id is free.
    """
    accounts = await _run(service, hosts, _MAKE)
    return {host.name: DataDirectory(service.scratch(host) / "data", accounts[host.name]) for host in hosts}


async def choose_accounts(service: Service[Any], hosts: Sequence[Host]) -> dict[str, DataDirectory]:
    """For servers without data: they need not enter the scratch. Raises HostError when no id is free."""
    accounts = await _run(service, hosts, f'{_CHOOSE}echo "$account"')
    return {host.name: DataDirectory(_TEMPORARY, accounts[host.name]) for host in hosts}


async def _run(service: Service[Any], hosts: Sequence[Host], script: str) -> dict[str, str]:
    return {
        host.name: (await service.run_script(host, "data", script, MARKER=SCRATCH_MARKER, **draw)).strip()
        for host, draw in zip(hosts, draw_accounts(len(hosts)), strict=True)
    }


def list_allowed_addresses(addresses: tuple[str, ...], host: Host) -> list[str]:
    """Addresses that may connect to a host: the clients' and its own.

    Linux connects to any loopback address from 127.0.0.1, unless a client chooses another.
    """
    loopback = ["127.0.0.1"] if host.address.startswith("127.") else []
    return list(dict.fromkeys([*addresses, host.address, *loopback]))
