"""Which hosts join when a service grows."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from steelyard.errors import HostError
from steelyard.services.kit.context import ServiceContext
from steelyard.services.kit.growth import choose_new_hosts
from steelyard.testing import FakeHost, Said

HOSTS = tuple(FakeHost(lambda _: Said(), {}) for _ in range(4))


def made() -> ServiceContext:
    scratch = {host.name: PurePosixPath("/s") for host in HOSTS}
    return ServiceContext("files", HOSTS[:2], scratch, Path("logs"), (), "", spare=HOSTS[2:])


@pytest.mark.parametrize(
    ("members", "to", "new"),
    [(HOSTS[:2], 3, HOSTS[2:3]), (HOSTS[:2], 4, HOSTS[2:]), (HOSTS[:2], 2, ()), (HOSTS[:3], 1, ())],
)
def test_hosts_join_in_their_order(members: tuple[FakeHost, ...], to: int, new: tuple[FakeHost, ...]) -> None:
    assert choose_new_hosts(made(), members, to, "nodes") == list(new)


def test_one_that_left_may_come_back() -> None:
    assert choose_new_hosts(made(), [HOSTS[0], HOSTS[2]], 3, "nodes") == [HOSTS[1]]


def test_more_than_there_are_is_told_with_what_to_do() -> None:
    with pytest.raises(HostError, match="service files cannot have 5 nodes, at most 4") as caught:
        choose_new_hosts(made(), HOSTS[:2], 5, "nodes")
    assert caught.value.hint == "add more hosts to `grow_into`"
