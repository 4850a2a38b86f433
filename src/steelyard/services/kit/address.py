"""Addresses in numbers, as a host itself resolves them: not every server takes names."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from steelyard.errors import HostError
from steelyard.hosts.base import Host


async def resolve_address(host: Host, name: str | None = None) -> str:
    """The host's own address, or another's, in numbers. Raises HostError when it cannot tell."""
    wanted = host.address if name is None else name
    try:
        return str(ip_address(wanted))
    except ValueError:
        said = await host.capture(("getent", "ahosts", wanted)) or ""
    numbers = [line.split()[0] for line in said.splitlines() if line.strip()]
    if not numbers:
        whose = "its own address" if name is None else "the address"
        hint = "give the host an `address` as an IP address"
        raise HostError(f"{host.name} cannot resolve {whose} {wanted} to an IP address", hint=hint)
    return _prefer_reachable(numbers)


def is_loopback(address: str) -> bool:
    """Whether it is one of the host itself; a name may be any."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _prefer_reachable(numbers: Sequence[str]) -> str:
    """The first that is not a loopback's: many systems have their own name at 127.0.1.1, for nobody else."""
    far = (number for number in numbers if not ip_address(number.partition("%")[0]).is_loopback)
    return next(far, numbers[0])
