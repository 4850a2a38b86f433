"""Asks an ASGI application without a network, so that a test says what an adversary sends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote


class Answer(NamedTuple):
    """What came back; names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    text: str


class Client:
    """One application, asked by one who sends the same headers again and again."""

    def __init__(self, app: Any, headers: Mapping[str, str] | None = None) -> None:
        self._app, self._headers = app, {"host": "127.0.0.1:8484", **(headers or {})}

    def ask(self, url: str, *, method: str = "GET", body: str = "", **headers: str) -> Answer:
        """Send a request, with dashes for underscores in names of headers."""
        sent = self._headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(self._ask(method, url, sent, body.encode()))

    async def _ask(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> Answer:
        path, _, query = url.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        }
        sent: list[Mapping[str, Any]] = []
        gone = asyncio.Event()

        async def receive() -> Mapping[str, Any]:
            if gone.is_set():
                await asyncio.Event().wait()
            gone.set()
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Mapping[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start = sent[0]
        found = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(start["status"], found, body.decode(errors="replace"))
