"""Ports that nothing uses on a host, as its kernel's tables say: nothing is bound to find out."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterable
from itertools import islice

from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.hosts.unused.ports import PortClaims

# Below the range from which Linux gives out ports to clients (32768 and up), and above the usual services.
_RANGE = range(20_000, 32_000)
_TABLES = "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null; true"
_LOCAL = re.compile(r"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ", re.MULTILINE)
_LISTENING = re.compile(r"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:0000 (0A|07) ", re.MULTILINE)
_WIDE = re.compile(r"^ *\d+: 0+:([0-9A-F]{4}) [0-9A-F]+:0000 0A ", re.MULTILINE)


async def choose_ports(
    hosts: Iterable[Host], first: int | None, count: int, claims: PortClaims
) -> tuple[int, ...]:
    """So many ports from the first one on, or wherever they are free. Raises HostError when one is taken."""
    if first is None:
        return await find_free_ports(hosts, count, claims)
    ports = tuple(range(first, first + count))
    await asyncio.gather(*(check_free(host, ports) for host in hosts))
    return ports


async def find_free_ports(hosts: Iterable[Host], count: int, claims: PortClaims) -> tuple[int, ...]:
    """So many ports that are free on all hosts, drawn by chance, and claimed. Raises HostError."""
    tables = await asyncio.gather(*map(_read_tables, _select_network_hosts(hosts)))
    used = set().union(*(_parse_ports(_LOCAL, text) for text in tables))
    free = [port for port in _RANGE if port not in used]
    start = random.SystemRandom().randrange(len(free) or 1)
    ports = tuple(islice(filter(claims.claim, free[start:] + free[:start]), count))
    if len(ports) < count:
        raise HostError(f"fewer than {count} ports are free between {_RANGE.start} and {_RANGE.stop}")
    return ports


async def check_free(host: Host, ports: Iterable[int]) -> None:
    """Raises HostError when something listens on one of the ports already."""
    if taken := set(ports) & await list_listening_ports(host):
        hint = "choose another port, or omit `port` to use a free one"
        raise HostError(f"port {min(taken)} on {host.name} ({host.address}) is already in use", hint=hint)


async def list_listening_ports(host: Host) -> set[int]:
    """The ports on which something waits, by TCP or UDP."""
    return {int(port, 16) for port, _ in _LISTENING.findall(await _read_tables(host))}


async def is_bound_everywhere(host: Host, port: int) -> bool:
    """Whether somebody listens on a port at every address of the host, not at one of them."""
    return port in {int(number, 16) for number in _WIDE.findall(await _read_tables(host))}


async def _read_tables(host: Host) -> str:
    # By a program beside us: the kernel takes 5 ms for each table, which would hold up all else.
    text = await host.capture(("sh", "-c", _TABLES))
    if not text:
        raise HostError(f"{host.name} does not report which ports are in use (/proc/net/tcp)")
    return text


def _select_network_hosts(hosts: Iterable[Host]) -> list[Host]:
    """A host of each network: who is reached by a loopback address has the ports of its whole machine."""
    networks = {host.machine if host.address.startswith("127.") else host.name: host for host in hosts}
    return list(networks.values())


def _parse_ports(pattern: re.Pattern[str], text: str) -> set[int]:
    return {int(port, 16) for port in pattern.findall(text)}
