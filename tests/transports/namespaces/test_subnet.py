from __future__ import annotations

import random
from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import HostError
from steelyard.transports.namespaces.subnet import find_free_subnet

ROUTES = """\
default via 192.0.2.1 dev eth0
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2
local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1
unreachable 10.0.0.0/9 metric 4278198272
broadcast 10.200.3.255 dev br0 table local proto kernel scope link src 10.200.3.1

"""


@given(st.integers())
def test_it_overlaps_with_nothing_there_is(seed: int) -> None:
    found = find_free_subnet(ROUTES, random.Random(seed))
    assert found.prefixlen == 24
    assert found.subnet_of(IPv4Network("10.128.0.0/9"))
    assert found != IPv4Network("10.200.3.0/24")


@pytest.mark.parametrize(
    ("routes", "pool"),
    [
        ("", "10.0.0.0/8"),
        ("10.0.0.0/8 via 10.1.1.1 dev tun0", "172.16.0.0/12"),
        ("10.0.0.0/8 dev a\n172.16.0.0/12 dev b\n192.168.0.0/16 dev c", "198.18.0.0/15"),
    ],
)
def test_a_network_that_is_in_use_is_left_alone(routes: str, pool: str) -> None:
    assert find_free_subnet(routes, random.Random(1)).subnet_of(IPv4Network(pool))


def test_no_network_is_free() -> None:
    with pytest.raises(HostError, match="no private network"):
        find_free_subnet("0.0.0.0/1 dev tun0\n128.0.0.0/1 dev tun0", random.Random(1))
