"""A service that another run holds: what its `control.json` must say."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path, PurePosixPath

import pytest

from steelyard.errors import HostError
from steelyard.services.attached import Attached, AttachedOptions, parse_endpoint
from steelyard.services.kit.context import ServiceContext
from steelyard.testing import FakeHost, Said

SERVICE = {"address": "10.0.0.1", "port": 9042, "facts": {"NODE_PORT": 9042}, "password": "s3cret"}


def deployed(content: str) -> Attached:
    host = FakeHost(lambda _: Said(), {"/runs/x/control.json": content})
    context = ServiceContext("ring", (host,), {"fake": PurePosixPath("/s")}, Path("logs"), (), "own")
    service = Attached(AttachedOptions(control="/runs/x/control.json"), context)

    async def up() -> None:
        async with service.deploy() as endpoint:
            assert endpoint == service.endpoint()
            assert host.started == []

    asyncio.run(up())
    return service


def test_it_is_where_the_other_run_says() -> None:
    found = deployed(json.dumps({"run": "x", "service": SERVICE})).endpoint()
    assert (found.address, found.port, found.password) == ("10.0.0.1", 9042, "s3cret")
    assert found.facts == {"NODE_PORT": "9042"}
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"service": {}}', '{"service": {"address": "a", "port": "x", "facts": 1}}'],
)
def test_one_that_says_nothing_is_refused(content: str) -> None:
    with pytest.raises(HostError, match="ring: /runs/x") as error:
        deployed(content)
    assert "cluster status" in error.value.hint


def test_an_endpoint_without_a_password_is_one() -> None:
    assert parse_endpoint(json.dumps({"service": {**SERVICE, "password": None}}), "x").password is None


def test_whom_to_believe_is_handed_on() -> None:
    assert parse_endpoint(json.dumps({"service": {**SERVICE, "authority": "PEM"}}), "x").authority == "PEM"
    assert parse_endpoint(json.dumps({"service": SERVICE}), "x").authority is None


def test_the_place_is_told_in_full() -> None:
    with pytest.raises(ValueError, match="absolute"):
        AttachedOptions(control="control.json")
