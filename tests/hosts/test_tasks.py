"""Tasks that end with their block."""

from __future__ import annotations

import asyncio

import pytest

from steelyard.hosts.tasks import run_tasks, wait_first


async def said(word: str, after: float, ended: list[str]) -> str:
    try:
        await asyncio.sleep(after)
        return word
    finally:
        ended.append(word)


async def failing() -> str:
    raise ValueError("no")


def test_what_still_runs_ends_with_the_block() -> None:
    ended: list[str] = []

    async def story() -> str:
        async with run_tasks(said("slow", 60, ended), said("quick", 0, ended)) as running:
            return (await wait_first(running)).result()

    assert asyncio.run(story()) == "quick"
    assert ended == ["quick", "slow"]


def test_of_several_that_are_done_the_first_in_order_counts() -> None:
    async def story() -> str:
        async with run_tasks(said("one", 0, []), said("two", 0, [])) as running:
            await asyncio.gather(*running)
            return (await wait_first(running)).result()

    assert asyncio.run(story()) == "one"


def test_a_failure_is_raised_where_it_is_awaited_and_ends_the_others() -> None:
    ended: list[str] = []

    async def story() -> None:
        async with run_tasks(said("slow", 60, ended), failing()) as running:
            await asyncio.gather(*running)

    with pytest.raises(ValueError, match="no"):
        asyncio.run(story())
    assert ended == ["slow"]


def test_a_cancellation_ends_all_and_is_passed_on() -> None:
    ended: list[str] = []

    async def story() -> None:
        async with run_tasks(said("slow", 60, ended)) as running:
            await wait_first(running)

    async def cancelled() -> None:
        task = asyncio.create_task(story())
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert ended == ["slow"]
