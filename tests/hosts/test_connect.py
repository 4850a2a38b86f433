from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from patience import comes
from steelyard.errors import HostError
from steelyard.hosts.connect import connect_all
from steelyard.hosts.shell import ShellHost


class Far:
    """A host as far as it is reached and left."""

    def __init__(self, log: list[str], name: str, trouble: Exception | None = None) -> None:
        self.log, self.name, self.trouble = log, name, trouble

    async def connect(self) -> None:
        self.log.append(f"+{self.name}")
        await asyncio.sleep(0.01)
        self.log.append(f"={self.name}")
        if self.trouble:
            raise self.trouble

    async def leave(self) -> None:
        self.log.append(f"-{self.name}")


class Stuck(Far):
    """One that is never reached."""

    async def connect(self) -> None:
        self.log.append(f"+{self.name}")
        await asyncio.sleep(3600)


def reach(hosts: list[Far], **more: Any) -> list[str]:
    async def tell() -> list[str]:
        async with connect_all(cast(list[ShellHost], hosts), **more) as reached:
            return [host.name for host in reached]

    return asyncio.run(tell())


def test_all_are_reached_in_order_and_left() -> None:
    log: list[str] = []
    assert reach([Far(log, name) for name in "cab"]) == ["c", "a", "b"]
    assert log[:3] == ["+c", "+a", "+b"]
    assert sorted(log[-3:]) == ["-a", "-b", "-c"]


def test_not_too_many_at_once() -> None:
    log: list[str] = []
    reach([Far(log, str(n)) for n in range(9)], at_once=3)
    at_once = [
        sum(entry[0] == "+" for entry in log[:n]) - sum(entry[0] == "=" for entry in log[:n])
        for n in range(19)
    ]
    assert max(at_once) == 3


def test_one_that_cannot_be_had_says_why_itself() -> None:
    log: list[str] = []
    error = HostError("host a: away", hint="look")
    with pytest.raises(HostError) as caught:
        reach([Far(log, "a", error), Far(log, "b")])
    assert caught.value is error
    assert sorted(log[-2:]) == ["-a", "-b"]


def test_several_are_all_named_and_a_hint_is_given_once() -> None:
    log: list[str] = []
    errors = [HostError(f"host {name}: away", hint="look") for name in "ac"]
    with pytest.raises(HostError) as caught:
        reach([Far(log, "a", errors[0]), Far(log, "b"), Far(log, "c", errors[1])])
    assert str(caught.value) == "2 of 3 hosts could not be reached:\n  host a: away\n  host c: away\nlook"
    assert sorted(log[-3:]) == ["-a", "-b", "-c"]


def test_a_mistake_of_ours_is_no_trouble_of_a_host() -> None:
    with pytest.raises(ZeroDivisionError):
        reach([Far([], "a", ZeroDivisionError()), Far([], "b", HostError("away"))])


def test_all_are_left_when_it_is_broken_off() -> None:
    log: list[str] = []

    async def tell() -> None:
        task = asyncio.create_task(enter())
        assert await comes(lambda: len(log) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def enter() -> None:
        async with connect_all(cast(list[ShellHost], [Stuck(log, name) for name in "ab"])):
            raise AssertionError

    asyncio.run(tell())
    assert sorted(log[-2:]) == ["-a", "-b"]
