"""A run's channel: its state is taken in by one look at a time, also when somebody gives up waiting."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

from steelyard.watching.watcher import Watcher
from steelyard.web.live.changes import Changes
from steelyard.web.live.run_channel import RunChannel


def test_a_look_that_nobody_waits_for_any_more_is_not_joined_by_another(build, plans, monkeypatch):
    at_work, most, first = [0], [0], threading.Event()
    look = Watcher.look

    def slowly(watcher: Watcher) -> bool:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        first.set()
        threading.Event().wait(0.2)
        over = look(watcher)
        at_work[0] -= 1
        return over

    monkeypatch.setattr(Watcher, "look", slowly)
    folder = build(**plans.watched()).folder

    async def test() -> None:
        channel = RunChannel(folder, Changes())
        given_up = asyncio.create_task(channel.read())
        await asyncio.to_thread(first.wait)
        given_up.cancel()
        with suppress(asyncio.CancelledError):
            await given_up
        await channel.read()
        assert channel.now is not None
        assert [cell.counted for cell in channel.now.cells] == [6, 5, 5]

    asyncio.run(test())
    assert most == [1]
