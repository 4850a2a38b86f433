"""Units in a ring, as processes of this machine: saved at one moment, with messages under way."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from loading import loaded
from loopback import free_port
from patience import PATIENCE
from steelyard.model.command import Output, Place
from steelyard.workloads.checkpoint.program.ring.meeting import Meeting, keep_table

checks = loaded(Path(__file__).with_name("test_checkpoint.py"))
Change = tuple[str, str]
NOTE = "self._received.note(number)"


def make_ring(**ring: Any) -> Any:
    given = {"port": free_port(), "messages": 50, "message": "1KiB", **ring}
    return checks.made(memory="1MB", steps=5, ring=given)


@contextmanager
def start_copies(workload: Any, folder: Path, copies: int, *changes: Change) -> Iterator[list[Any]]:
    """Processes of so many copies; those after the first cheat by the changes."""
    processes = []
    for copy in range(copies):
        place = folder / str(copy)
        place.mkdir()
        where = Place(PurePosixPath(place), PurePosixPath(place), 2, 2**30, seed=7, copy=copy, copies=copies)
        command = workload.command(replace(where, peers=("127.0.0.1",)))
        text = command.stdin
        for old, new in changes if copy else ():
            assert text.count(old) == 1
            text = text.replace(old, new)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen((sys.executable, *command.argv[1:]), cwd=place, text=True, **pipes)
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
        processes.append(process)
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def run_ring(workload: Any, folder: Path, copies: int, *changes: Change) -> list[Output]:
    """How all of them ended. If one fails, the others are ended, as the controller does."""
    with start_copies(workload, folder, copies, *changes) as processes:
        said = [process.communicate(timeout=PATIENCE) for process in processes]
        exits = [replace(checks.EXIT, code=process.returncode) for process in processes]
    return [Output(code, *texts) for code, texts in zip(exits, said, strict=True)]


@pytest.mark.parametrize("sockets", ["kept", "reopened"])
@pytest.mark.parametrize("copies", [2, 4])
def test_no_message_is_lost_or_doubled(tmp_path: Path, sockets: str, copies: int) -> None:
    workload = make_ring(sockets=sockets)
    for output in run_ring(workload, tmp_path, copies):
        assert output.exit.code == 0, output.stderr
        reading = workload.parse("run", output)
        assert set(reading.values) == {metric.name for metric in workload.metrics()}
        assert reading.values["messages"] >= 100
        assert reading.values["state_size"] == 1_000_052
        assert reading.values["pause_time"] >= reading.values["pre_time"] + reading.values["save_time"]


def test_messages_in_transit_are_drained(tmp_path: Path) -> None:
    """Those who receive are slower than those who send, so that some are always under way."""
    workload = make_ring(interval="0s", messages=20)
    slow = (NOTE, f"{NOTE}; threading.Event().wait(0.002)")
    drained = [
        workload.parse("run", output).values["drained"] for output in run_ring(workload, tmp_path, 2, slow)
    ]
    assert max(drained) > 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((NOTE, f"number != 7 and {NOTE}"), "1 messages from copy 0 to copy 1 were lost: 7"),
        ((NOTE, f"{NOTE}; number == 7 and {NOTE}"), "1 messages from copy 0 to copy 1 were doubled: 7"),
    ],
)  # fmt: skip
def test_a_unit_that_loses_or_doubles_a_message_fails_the_trial(
    tmp_path: Path, change: Change, said: str
) -> None:
    outputs = run_ring(make_ring(), tmp_path, 2, change)
    assert said in outputs[1].stderr
    assert outputs[1].exit.code == 1
    assert "Traceback" not in "".join(output.stderr for output in outputs)


def test_a_unit_that_forgets_what_it_sent_fails_the_trial(tmp_path: Path) -> None:
    """It begins again one message before: the same number is sent and received twice."""
    outputs = run_ring(
        make_ring(), tmp_path, 2, ("self.counter, self.sent, ", "self.counter, self.sent - 1, ")
    )
    assert "1 messages from copy 1 to copy 0 were doubled: " in outputs[0].stderr


def test_a_unit_that_is_saved_without_draining_loses_messages(tmp_path: Path) -> None:
    """It closes its connections while messages are under way to it."""
    slow = (NOTE, f"{NOTE}; threading.Event().wait(0.002)")
    hasty = ("for thread in self._threads:\n            thread.join()", "pass")
    outputs = run_ring(make_ring(interval="0s", messages=20), tmp_path, 2, slow, hasty)
    assert {output.exit.code for output in outputs} == {1}


def test_an_altered_message_fails_the_trial(tmp_path: Path) -> None:
    change = ("zlib.crc32(content)) + content)", "zlib.crc32(content) ^ (number == 7)) + content)")
    outputs = run_ring(make_ring(), tmp_path, 2, change)
    assert "message 7 from the left neighbour was altered on its way" in outputs[0].stderr


def test_the_others_hear_of_a_copy_that_dies(tmp_path: Path) -> None:
    outputs = run_ring(
        make_ring(), tmp_path, 3, ('        """Wait for so many more messages."""', "        os._exit(9)")
    )
    assert "the unit ended with 9 when it was asked to receive" in outputs[1].stderr
    assert "Traceback" not in outputs[0].stderr
    assert outputs[0].exit.code == 1


def test_one_copy_is_no_ring(tmp_path: Path) -> None:
    (output,) = run_ring(make_ring(), tmp_path, 1)
    assert output.stderr == "a ring needs at least two copies: give the workload `copies: 2`\n"


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with start_copies(make_ring(port=port), tmp_path, 2) as processes:
            _, said = processes[0].communicate(timeout=PATIENCE)
    assert (
        f"cannot listen on 127.0.0.1 port {port}: Address already in use; give `ring` another `port`" in said
    )


def test_strangers_at_the_door_are_sent_away() -> None:
    """They come before the copies do."""
    asked = {"copies": 2, "address": "127.0.0.1", "peers": ["127.0.0.1"], "ring": {"port": free_port()}}
    keeping = keep_table(asked)
    strangers = [socket.create_connection(("127.0.0.1", asked["ring"]["port"])) for _ in range(3)]
    for stranger, said in zip(strangers, (b"GET / HTTP/1.1", b"00000009", b"short"), strict=True):
        with suppress(OSError):  # it may have been sent away already
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(Meeting, {**asked, "copy": 1})
        first, second = Meeting({**asked, "copy": 0}), coming.result(PATIENCE)
        assert first.secret == second.secret
        hearing = pool.submit(second.gather, "b")
        assert first.gather("a") == hearing.result(PATIENCE) == ["a", "b"]
    for stranger in strangers:
        assert read_end(stranger) == b""
        stranger.close()
    first.leave()
    second.leave()
    keeping.join(PATIENCE)


def read_end(channel: socket.socket) -> bytes:
    """What comes before the end; a connection that is reset has ended, too."""
    try:
        return channel.recv(1)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ring": {"message": "2MiB"}}, "less than or equal"),
        ({"ring": {"port": 80}}, "greater than or equal to 1024"),
        ({"ring": {"sockets": "torn"}}, "reopened"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        checks.made(**options)
