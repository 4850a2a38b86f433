"""The control socket: who has the key is answered, whoever has not harms nobody."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patience import PATIENCE
from steelyard.controller.control import socket as control
from steelyard.controller.control.socket import ControlAddress, call, listen, read_control_address
from steelyard.errors import HostError


async def echo(verb: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    if verb == "refuse":
        raise HostError("not now", hint="later")
    if verb == "break":
        raise RuntimeError("a mistake")
    if verb == "wait":
        await asyncio.sleep(facts["seconds"])
    return {"verb": verb, **facts}


def with_server(
    place: Path, test: Callable[[Path, ControlAddress], Awaitable[None]], handle: Any = echo
) -> None:
    async def run() -> None:
        async with listen("127.0.0.1", handle) as found:
            file = place / "control.json"
            file.touch(0o600)
            file.write_text(json.dumps({"socket": found._asdict()}))
            await test(file, found)

    asyncio.run(run())


def test_who_has_the_key_is_answered(tmp_path: Path) -> None:
    async def test(file: Path, found: ControlAddress) -> None:
        assert await call(file, "status", nodes=[1, "zwölf"]) == {"verb": "status", "nodes": [1, "zwölf"]}
        several = await asyncio.gather(*(call(file, "n", n=n) for n in range(8)))
        assert [each["n"] for each in several] == list(range(8))
        with pytest.raises(HostError, match="not now") as refused:
            await call(file, "refuse")
        assert refused.value.hint == "later"
        with pytest.raises(HostError, match="RuntimeError: a mistake"):
            await call(file, "break")
        assert (await call(file, "again"))["verb"] == "again"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert found.address == "127.0.0.1"

    with_server(tmp_path, test)


def test_a_long_answer_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "BUSY_EVERY", 0.02)
    monkeypatch.setattr(control, "WITHIN", PATIENCE)

    async def test(file: Path, found: ControlAddress) -> None:
        assert (await call(file, "wait", seconds=0.3))["seconds"] == 0.3

    with_server(tmp_path, test)


def test_a_wrong_key_is_told_nothing_and_the_key_never_sent(tmp_path: Path) -> None:
    asked: list[str] = []

    async def handle(verb: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(verb)
        return {}

    async def test(file: Path, found: ControlAddress) -> None:
        file.write_text(json.dumps({"socket": found._replace(key="0" * 64)._asdict()}))
        with pytest.raises(HostError, match="does not answer"):
            await call(file, "stop")
        reader, writer = await asyncio.open_connection(found.address, found.port)
        greeting = await reader.readline()
        assert found.key.encode() not in greeting
        request = {"nonce": "1", "request": '{"verb": "stop"}', "seal": "0" * 64}
        writer.write(json.dumps(request).encode() + b"\n")
        assert await reader.read() == b""
        writer.close()
        assert asked == []

    with_server(tmp_path, test, handle)


def test_an_impostor_is_not_believed(tmp_path: Path) -> None:
    """A server that got the port of one that ended, and knows no key."""

    async def run() -> None:
        async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b'{"nonce": "1"}\n')
            await reader.readline()
            writer.write(json.dumps({"answer": '{"done": {"nodes": []}}', "seal": "0" * 64}).encode() + b"\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(impostor, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        file = tmp_path / "control.json"
        file.write_text(json.dumps({"socket": {"address": "127.0.0.1", "port": port, "key": "k"}}))
        with pytest.raises(HostError, match="not from this run's controller"):
            await call(file, "status")
        server.close()

    asyncio.run(run())


GARBAGE = {
    "nested": b"[" * 5000,
    "long": b"x" * (control.LONGEST + 10),
    "null": b'{"nonce": 1, "request": [], "seal": null}\n',
    "not ASCII": b'{"nonce": "1", "request": "{}", "seal": "\xc3\xa4"}\n',
}


@settings(max_examples=25)
@given(st.lists(st.binary(max_size=200) | st.sampled_from(sorted(GARBAGE)), max_size=4))
def test_garbage_harms_nobody(tmp_path_factory: pytest.TempPathFactory, garbage: list[bytes | str]) -> None:
    async def test(file: Path, found: ControlAddress) -> None:
        writers = []
        for piece in (GARBAGE[one] if isinstance(one, str) else one for one in garbage):
            _, writer = await asyncio.open_connection(found.address, found.port)
            writer.write(piece)
            if len(piece) % 2:
                writer.write_eof()
            writers.append(writer)
        assert (await call(file, "still"))["verb"] == "still"
        for writer in writers:
            writer.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control, "WITHIN", PATIENCE)  # however slow the machine
        with_server(tmp_path_factory.mktemp("garbage"), test)


def test_who_holds_connections_open_keeps_only_the_late_ones_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "WITHIN", 0.3)

    async def test(file: Path, found: ControlAddress) -> None:
        silent = [await asyncio.open_connection(found.address, found.port) for _ in range(control.AT_ONCE)]
        for reader, _ in silent:
            await reader.read()  # to its end: they are shown out
        monkeypatch.setattr(control, "WITHIN", PATIENCE)
        assert (await call(file, "still"))["verb"] == "still"
        for _, writer in silent:
            writer.close()

    with_server(tmp_path, test)


@pytest.mark.parametrize(
    "text", ["", "{}", '{"socket": {}}', "[1]", '{"socket": {"address": 1, "port": "x"}}']
)
def test_a_file_that_names_no_socket(tmp_path: Path, text: str) -> None:
    file = tmp_path / "control.json"
    with pytest.raises(HostError, match="no controller to reach"):
        read_control_address(file)
    file.write_text(text)
    with pytest.raises(HostError, match="no controller to reach"):
        read_control_address(file)


def test_a_planted_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("fifo", "link"):
        with pytest.raises(HostError, match="no controller to reach"):
            read_control_address(tmp_path / name)
