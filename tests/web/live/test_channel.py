"""A page that is alive: each gets what it lacks, once, whether it comes, comes again, or reads slowly."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing

import pytest

from patience import PATIENCE
from steelyard.errors import StoreError
from steelyard.web.live.channel import LiveChannel, Update, View


class Told(LiveChannel):
    """Shows what it is told; it may look again when the event is set."""

    def __init__(self) -> None:
        super().__init__()
        self.view = View(1, {"a": "a1", "b": "b1"}, {"f": "f1"})
        self.event, self.entered, self.looks = asyncio.Event(), 0, 0

    async def enter(self, stack: AsyncExitStack) -> None:
        self.entered += 1
        stack.callback(self._leave)

    def _leave(self) -> None:
        self.entered -= 1

    async def look(self) -> View:
        self.looks += 1
        if not self.view.number:
            raise StoreError("gone")
        return self.view

    async def wait(self) -> None:
        await self.event.wait()
        self.event.clear()

    async def show(self, view: View) -> None:
        """Let it look, and be done with that."""
        self.view, before = view, self.looks
        self.event.set()
        while self.looks == before:  # noqa: ASYNC110 - the next step of the loop is all it takes
            await asyncio.sleep(0)
        await asyncio.sleep(0)


def run(test) -> None:
    async def limited() -> None:
        async with asyncio.timeout(PATIENCE):
            await test(Told())

    asyncio.run(limited())


def test_who_comes_gets_everything_and_then_what_changes():
    async def test(channel: Told) -> None:
        async with aclosing(channel.follow(0)) as updates:
            assert (await anext(updates)).parts == {"a": "a1", "b": "b1", "f": "f1"}
            await channel.show(View(2, {"a": "a2", "b": "b1"}, {"f": "f1"}))
            update = await anext(updates)
            assert (update.parts, update.number, update.over) == ({"a": "a2"}, 2, False)

    run(test)


def test_who_comes_back_gets_what_has_changed_since_and_what_is_fleeting():
    async def test(channel: Told) -> None:
        async with aclosing(channel.follow(0)) as updates:
            await anext(updates)
            await channel.show(View(5, {"a": "a1", "b": "b5"}, {"f": "f2"}))
            async with aclosing(channel.follow(1)) as again:
                assert (await anext(again)).parts == {"b": "b5", "f": "f2"}
            async with aclosing(channel.follow(5)) as again:
                assert (await anext(again)).parts == {"f": "f2"}

    run(test)


def test_a_slow_reader_gets_all_that_has_changed_meanwhile_at_once():
    async def test(channel: Told) -> None:
        async with aclosing(channel.follow(0)) as quick, aclosing(channel.follow(0)) as slow:
            await anext(quick), await anext(slow)
            for number in range(2, 50):
                await channel.show(View(number, {"a": f"a{number}", "b": "b1"}))
                assert (await anext(quick)).number == number
            update = await anext(slow)
            assert (update.parts, update.number) == ({"a": "a49"}, 49)

    run(test)


def test_what_many_get_is_encoded_once():
    async def test(channel: Told) -> None:
        async with aclosing(channel.follow(0)) as one, aclosing(channel.follow(0)) as other:
            await anext(one), await anext(other)
            await channel.show(View(2, {"a": "a2"}))
            assert (await anext(one)) is (await anext(other))

    run(test)


def test_it_ends_with_the_last_change_and_nobody_looks_any_more():
    async def test(channel: Told) -> None:
        updates = channel.follow(0)
        await anext(updates)
        await channel.show(View(2, {"a": "end"}, over=True))
        assert (await anext(updates)) == Update({"a": "end"}, 2, over=True)
        with pytest.raises(StopAsyncIteration):
            await anext(updates)
        assert not channel.is_followed
        await channel.close()
        assert channel.entered == 0

    run(test)


def test_nobody_looks_when_nobody_follows():
    async def test(channel: Told) -> None:
        async with aclosing(channel.follow(0)) as updates:
            await anext(updates)
            assert channel.is_followed
            assert channel.entered == 1
        await channel.close()
        assert channel.entered == 0
        assert not channel.is_followed

    run(test)


def test_who_comes_as_the_last_one_leaves_is_told_as_well():
    async def test(channel: Told) -> None:
        async with aclosing(channel.follow(0)) as updates:
            await anext(updates)
        async with aclosing(channel.follow(0)) as updates:
            await anext(updates)
            await channel.show(View(2, {"a": "a2"}))
            assert (await anext(updates)).parts == {"a": "a2"}

    run(test)


def test_a_record_that_is_gone_ends_the_page():
    async def test(channel: Told) -> None:
        updates = channel.follow(0)
        await anext(updates)
        await channel.show(View(0, {}))
        assert (await anext(updates)).over

    run(test)


def test_an_update_is_one_event_whatever_its_parts_hold():
    event = Update({"a": "<b>\n\n\r\ndata: x</b>"}, 7, over=False).event.decode()
    assert event.startswith("id: 7\nevent: parts\ndata: {")
    assert event.count("\n") == 4, "no line feed of a part gets through"
    assert event.endswith("}\n\n")
