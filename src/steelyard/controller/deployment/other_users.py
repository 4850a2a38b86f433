"""Who else works on the hosts of a service that asks for no password: they may use it, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.controller.placement import group_by_machine
from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.hosts.unused.accounts import is_unnamed
from steelyard.model.keys.uses import ServiceUse
from steelyard.services.base import Service

# By real user ids, which a process cannot hide but by a /proc that shows each user only his own. The first
# word says whether all ids of the machine are told apart: else strangers look like `nobody`. Not read by sed
# itself: it ends, and leaves out all that follow, when a process ends between open and read.
_ASK = """
own=$(id -u)
if ! cat /proc/1/status >/dev/null 2>&1 ||
    { [ "$own" != 0 ] && grep -Eq ' /proc proc [^ ]*hidepid=[^0o]' /proc/mounts; }; then
    echo hidden; exit
fi
read -r _ _ count < /proc/self/uid_map
[ "$count" = 4294967295 ] && echo all || echo some
least=$(sed -n 's/^UID_MIN[[:space:]]*//p' /etc/login.defs 2>/dev/null)
cat /proc/[0-9]*/status 2>/dev/null | sed -n 's/^Uid:[[:space:]]*\\([0-9]*\\).*/\\1/p' | sort -un |
while read -r each; do
    [ "$each" -ge "${least:-1000}" ] && [ "$each" != "$own" ] || continue
    echo "$each:$(getent passwd "$each" 2>/dev/null | cut -d: -f1)"
done
"""
_NOBODY = 65534
_DYNAMIC = range(61_184, 65_520)  # servers of systemd with `DynamicUser`


async def find_shared_hosts(service: Service[Any], use: ServiceUse) -> list[str]:
    """Hosts on which others work, of a service that asks for nothing; none where it asks.

    Raises HostError when there are some and the experiment does not say `open: true`.
    """
    if not service.is_open():
        return []
    shared: dict[str, str] = {}
    for hosts in group_by_machine((*service.context.hosts, *service.context.spare)).values():
        if not hosts[0].own_network and (who := await find_other_user(hosts[0])):
            shared |= {host.name: who for host in hosts}
    if shared and not use.open:
        name, who = next(iter(shared.items()))
        ports = ", ".join(listener.purpose for listener in service.listeners() if listener.is_open)
        raise HostError(
            f"service {service.context.name}: {use.use} requires no password ({ports}), and {who} on "
            f"host {name}; add `open: true` next to `use: {use.use}` if every user there may access it"
            f"{service.open_hint}"
        )
    return list(shared)


async def find_other_user(host: Host) -> str:
    """Who else is on a host, as words of a sentence; empty when nobody is."""
    said = (await host.capture(("sh", "-c", _ASK)) or "hidden").split()
    if said[0] == "hidden":
        return "other users cannot be seen"
    for uid, name in _parse_users(said[1:], apart=said[0] == "all"):
        return f"{name or 'an unnamed user'} (user id {uid}) is active"
    return ""


def _parse_users(said: list[str], *, apart: bool) -> Iterator[tuple[int, str]]:
    """User ids of accounts with their names, without those of servers."""
    for line in said:
        number, _, name = line.partition(":")
        uid = int(number)
        if (uid == _NOBODY and apart) or uid in _DYNAMIC:
            continue
        if name or not is_unnamed(uid):
            yield uid, name
