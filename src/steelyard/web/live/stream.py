"""Updates of a channel as a stream of server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import StreamingResponse

from steelyard.web.context import parse_number
from steelyard.web.live.channel import LiveChannel

_HEADERS = {"X-Accel-Buffering": "no"}  # nginx would keep the events until it has a page of them


def stream(request: Request, channel: LiveChannel) -> StreamingResponse:
    """From the event that the browser saw last, else from the number that its page was made with."""
    seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return StreamingResponse(
        _format_events(channel, parse_number(seen) or 0), media_type="text/event-stream", headers=_HEADERS
    )


async def _format_events(channel: LiveChannel, after: int) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    async with aclosing(channel.follow(after)) as updates:
        async for update in updates:
            yield update.event
