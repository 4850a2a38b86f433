"""A key-value server. It runs on a host, with nothing but Python: `kv_server.py ADDRESS PORT`.

A request is a line, and so is its answer: PING, AUTH password, SET key value, GET key.
"""

import asyncio
import os
import sys

store: dict[str, str] = {}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One client, until it is gone."""
    may_enter = False
    while line := (await reader.readline()).decode():
        word, *rest = line.rstrip("\n").split(" ", 2)
        may_enter = may_enter or (word, rest) == ("AUTH", [os.environ["KV_PASSWORD"]])
        writer.write((answer(word, rest, may_enter) + "\n").encode())
        await writer.drain()
    writer.close()


def answer(word: str, rest: list[str], may_enter: bool) -> str:
    """The answer to a request."""
    if word == "PING":
        return "PONG"
    if not may_enter:
        return "DENIED"
    if word == "SET":
        store[rest[0]] = rest[1]
    return store.get(rest[0], "") if word == "GET" else "OK"


async def main() -> None:
    """Serve until somebody ends it."""
    server = await asyncio.start_server(serve, sys.argv[1], int(sys.argv[2]))
    print("listening on", *sys.argv[1:], flush=True)
    await server.serve_forever()


asyncio.run(main())
