"""Updates of a channel as a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from starlette.requests import Request
from starlette.responses import StreamingResponse

from steelyard.web.live.channel import LiveChannel

BEAT_EVERY = 15.0
"""Seconds after which a line without meaning says that we are still there; proxies end what is silent."""
_HEADERS = {"X-Accel-Buffering": "no"}  # nginx would keep the events until it has a page of them


def stream(request: Request, channel: LiveChannel) -> StreamingResponse:
    """From the event that the browser saw last, else from the number that its page was made with."""
    seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
    events = _format_events(channel, int(seen) if seen.isdecimal() and len(seen) < 20 else 0)
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)


async def _format_events(channel: LiveChannel, after: int) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    async with aclosing(channel.follow(after)) as updates:  # type: ignore[type-var]
        following = asyncio.ensure_future(anext(updates))
        try:
            while True:
                done, _ = await asyncio.wait([following], timeout=BEAT_EVERY)
                if not done:
                    yield b": here\n\n"
                    continue
                yield following.result().event
                following = asyncio.ensure_future(anext(updates))
        except StopAsyncIteration:
            return
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await following
