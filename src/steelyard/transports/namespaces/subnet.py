"""A private IPv4 network that nothing on this machine uses."""

from __future__ import annotations

import random
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from steelyard.errors import HostError

_POOLS = tuple(
    IPv4Network(pool)
    # RFC 1918, and RFC 2544's range for benchmarks of network devices
    for pool in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15")
)
_TRIES = 200


def find_free_subnet(routes: str, rng: random.Random) -> IPv4Network:
    """A /24, chosen at random, that overlaps with no route of `ip -4 route show table all`. Raises HostError.

    The default route is none: everything overlaps with it.
    """
    taken = list(_networks(routes.splitlines()))
    for pool in _POOLS:
        for _ in range(_TRIES):
            first = int(pool.network_address) + 256 * rng.randrange(pool.num_addresses // 256)
            subnet = IPv4Network((IPv4Address(first), 24))
            if not any(subnet.overlaps(other) for other in taken):
                return subnet
    raise HostError("no private network is free for namespaces: this machine has routes to all of them")


def _networks(lines: Iterable[str]) -> Iterable[IPv4Network]:
    for line in lines:
        words = [word for word in line.split() if word not in _KINDS]
        try:
            yield IPv4Network(words[0], strict=False)
        except (AddressValueError, NetmaskValueError, ValueError, IndexError):
            continue  # `default`, or something that is no address


# ip-route(8): what may stand before the destination
_KINDS = frozenset(
    {
        "unicast",
        "unreachable",
        "blackhole",
        "prohibit",
        "local",
        "broadcast",
        "throw",
        "nat",
        "anycast",
        "multicast",
    }
)
