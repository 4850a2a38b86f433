"""Free ports from the kernel's tables."""

from __future__ import annotations

import asyncio

import pytest

from steelyard.errors import HostError
from steelyard.hosts.unused.ports import PortClaims
from steelyard.services.kit import ports

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
TABLE = (
    HEAD
    + "   0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n"
    + "   1: 0100007F:4E21 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 1\n"
    + HEAD
    + "   0: 00000000000000000000000000000000:4E22 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1\n"
    + " 123: 0200007F:4E23 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1\n"
)


class Told:
    """A host that tells nothing but its tables."""

    machine = "one"

    def __init__(self, text: str | None, name: str = "n1", address: str = "10.0.0.1") -> None:
        self.text, self.name, self.address = text, name, address
        self.asked = 0

    async def capture(self, argv, *, seconds=10.0):
        self.asked += 1
        return self.text


def find(hosts, count):
    with PortClaims() as claims:
        return asyncio.run(ports.find_free_ports(hosts, count, claims))


def choose(hosts, first, count):
    with PortClaims() as claims:
        return asyncio.run(ports.choose_ports(hosts, first, count, claims))


def test_what_listens_is_known_by_tcp_and_udp_and_both_versions():
    assert asyncio.run(ports.list_listening_ports(Told(TABLE))) == {20000, 20002, 20003}


def test_ports_that_are_used_in_any_way_on_any_host_are_not_chosen():
    for _ in range(200):
        found = find([Told(TABLE), Told(HEAD, "n2")], 3)
        assert len(set(found)) == 3
        assert not set(found) & {20000, 20001, 20002, 20003}
        assert all(20000 <= port < 32000 for port in found)


def test_runs_that_look_at_the_same_time_look_at_different_places():
    assert len({find([Told(TABLE)], 2) for _ in range(20)}) > 10


def test_what_one_has_claimed_no_other_draws_until_it_is_given_back(monkeypatch):
    ours = range(100, 110)  # a claim is the whole machine's: services of other tests draw from the real range
    monkeypatch.setattr(ports, "_RANGE", ours)
    with PortClaims() as claims:
        taken = asyncio.run(ports.find_free_ports([Told(HEAD)], 6, claims))
        assert set(taken) | set(find([Told(HEAD)], 4)) == set(ours)
        with pytest.raises(HostError, match="fewer than 5 ports are free"):
            find([Told(HEAD)], 5)
    assert len(find([Told(HEAD)], 10)) == 10


def test_hosts_that_share_a_network_are_asked_once():
    shared = [Told(TABLE, "a", "127.0.0.1"), Told(TABLE, "b", "127.0.0.2")]
    own = [Told(TABLE, "c", "10.0.0.1"), Told(TABLE, "d", "10.0.0.2")]
    find([*shared, *own], 3)
    assert sum(host.asked for host in shared) == 1
    assert [host.asked for host in own] == [1, 1]


def test_ports_asked_for_follow_each_other_and_are_looked_at_first():
    assert choose([Told(TABLE)], 5000, 3) == (5000, 5001, 5002)
    with pytest.raises(HostError, match=r"port 20002 on n1 \(10\.0\.0\.1\) is already in use"):
        choose([Told(TABLE)], 20001, 2)


@pytest.mark.parametrize("text", [None, ""])
def test_a_host_that_does_not_tell_is_named(text):
    with pytest.raises(HostError, match="n1 does not report which ports are in use"):
        find([Told(text)], 1)
