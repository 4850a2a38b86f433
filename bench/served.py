"""`python -m bench.served STORE`: our web server, with bare pages and bare events as floors."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from steelyard.store.layout import Store
from steelyard.web import app
from steelyard.web.access.tokens import Tokens
from steelyard.web.listening import Listening
from steelyard.web.serve import ServeOptions, serve

TOKEN = "bench" * 9
BARE_EVENTS, EVERY = 300, 0.1
_routes = app.list_routes


async def show_bare(request: Request) -> Response:
    """A page of so many bytes, from memory."""
    return HTMLResponse("x" * int(request.query_params.get("bytes", "0")))


async def stream_bare(_: Request) -> Response:
    """Events that hold the moment at which they are sent, in seconds since 1970."""

    async def events() -> AsyncIterator[str]:
        for _ in range(BARE_EVENTS):
            await asyncio.sleep(EVERY)
            yield f"data: {time.time()}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


def list_more_routes() -> list[Any]:
    """Ours and the bare ones."""
    return [*_routes(), Route("/bare", show_bare), Route("/bare/events", stream_bare)]


def announce(place: Listening) -> None:
    """Say the port to who started us."""
    print(place.port, flush=True)


if __name__ == "__main__":
    app.list_routes = list_more_routes
    serve(Store(Path(sys.argv[1])), ServeOptions("127.0.0.1:0"), Tokens(TOKEN, "r" * 45), announce)
