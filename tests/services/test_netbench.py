"""Addresses in numbers, as a host resolves them."""

from __future__ import annotations

import asyncio

import pytest

from steelyard.errors import HostError
from steelyard.services.kit.address import resolve_address


class Told:
    """A host that knows what its name stands for."""

    name = "n1"

    def __init__(self, address: str, text: str | None) -> None:
        self.address, self.text = address, text

    async def capture(self, argv, *, seconds=10.0):
        assert argv == ("getent", "ahosts", self.address)
        return self.text


@pytest.mark.parametrize(
    ("address", "text", "number"),
    [
        ("10.0.0.1", None, "10.0.0.1"),
        ("fe80::1", None, "fe80::1"),
        ("node1", "127.0.1.1 STREAM node1\n10.0.0.1 STREAM\n", "10.0.0.1"),
        ("localhost", "::1 STREAM localhost\n::1 DGRAM\n", "::1"),
    ],
)
def test_a_name_becomes_a_number_that_others_reach(address, text, number):
    assert asyncio.run(resolve_address(Told(address, text))) == number


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_a_name_that_stands_for_nothing_is_told(text):
    with pytest.raises(HostError, match="n1 cannot resolve its own address node1 to an IP address"):
        asyncio.run(resolve_address(Told("node1", text)))
