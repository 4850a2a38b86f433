"""Whole hosts that are saved, and go on: what is measured, and what is healed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import HostError, UsageError
from steelyard.events.base import EventContext
from steelyard.events.checkpoint_host import CheckpointHost, CheckpointHostOptions


class Machine:
    """A host that can be saved; it keeps what was done to it."""

    def __init__(self, name: str, size: int, refuses: str = "") -> None:
        self.name, self.done, self._size, self._refuses = name, list[str](), size, refuses

    async def checkpoint_host(self) -> int:
        if self._refuses:
            raise HostError(self._refuses)
        self.done.append("saved")
        return self._size

    async def restore_host(self) -> None:
        if self.done[-1:] == ["saved"]:
            self.done.append("restored")


class Plain:
    """A host that cannot be saved."""

    name = "n9"


def event(*hosts: Any, **options: Any) -> CheckpointHost:
    context = EventContext({}, lambda _: hosts, {}, Path("logs"))
    return CheckpointHost(CheckpointHostOptions.model_validate({"on": "db", **options}), context)


def test_all_are_saved_before_any_goes_on() -> None:
    hosts = Machine("n1", 1000), Machine("n2", 2000)
    made = event(*hosts, length="1ms")
    made.check()
    facts = asyncio.run(made.happen())
    assert [host.done for host in hosts] == [["saved", "restored"]] * 2
    assert facts["hosts"] == ["n1", "n2"]
    assert facts["size"] == 3000
    assert facts["save_time"] >= 0
    assert facts["restore_time"] >= 0


def test_those_that_were_saved_are_brought_back_where_another_was_not() -> None:
    one, two = Machine("n1", 1), Machine("n2", 1, refuses="host n2: no room")
    made = event(one, two)
    with pytest.raises(HostError, match="host n2: no room"):
        asyncio.run(made.happen())
    asyncio.run(made.heal())
    assert one.done == ["saved", "restored"]


def test_a_host_that_cannot_be_saved_is_told_beforehand() -> None:
    with pytest.raises(UsageError, match="host n9 cannot be saved") as refused:
        event(Plain()).check()
    assert "kind: qemu" in (refused.value.hint or "")
