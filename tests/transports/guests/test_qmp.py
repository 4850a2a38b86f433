"""What QEMU is asked, and what is made of its answers: by a monitor that remembers what it was told."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.errors import HostError
from steelyard.transports.guests.qmp import Monitor

GREETING = {"QMP": {"version": {}, "capabilities": []}}


class Machine:
    """A monitor at a socket: it keeps the commands, the files that came with them, and answers in turn."""

    def __init__(self, place: Path, *answers: object) -> None:
        self.path, self.heard, self.written = place / "qmp", list[str](), 0
        self._answers = [GREETING, {"return": {}}, *answers]
        self._door = socket.create_server(str(self.path), family=socket.AF_UNIX)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        connection, _ = self._door.accept()
        with self._door, connection:
            connection.sendall(json.dumps(self._answers.pop(0)).encode() + b"\n")
            while self._answers:
                text, files, _, _ = socket.recv_fds(connection, 65536, 4)
                if not text:
                    return
                self.heard.append(json.loads(text)["execute"])
                for file in files:
                    self.written += os.write(file, b"state")
                    os.close(file)
                answer = self._answers.pop(0)
                lines = answer if isinstance(answer, list) else [answer]
                connection.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:  # a socket's path is short
        yield Path(made)


def test_events_between_command_and_answer_are_passed_over(place: Path) -> None:
    machine = Machine(place, [{"event": "STOP"}, {"return": {"status": "paused"}}])
    with Monitor.open(machine.path) as monitor:
        assert monitor.ask("query-status") == {"status": "paused"}
    assert machine.heard == ["qmp_capabilities", "query-status"]


def test_a_file_goes_with_its_command(place: Path) -> None:
    machine = Machine(place, {"return": {}})
    with Monitor.open(machine.path) as monitor, (place / "state").open("wb") as file:
        monitor.ask("getfd", {"fdname": "state"}, file)
    assert (place / "state").read_bytes() == b"state"


def test_it_asks_until_it_is_done(place: Path) -> None:
    answers = [{"return": {"status": status}} for status in ("setup", "active", "completed")]
    machine = Machine(place, *answers)
    with Monitor.open(machine.path) as monitor:
        monitor.await_status("query-migrate", "completed")
    assert machine.heard.count("query-migrate") == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": {"desc": "disk is gone"}}, "refused `query-migrate`: .*disk is gone"),
        ({"return": {"status": "failed", "error-desc": "No space"}}, "No space"),
        (["not an object"], "ended the connection"),
    ],
)
def test_what_does_not_work_is_told(place: Path, answer: object, said: str) -> None:
    machine = Machine(place, answer)
    with (
        pytest.raises(HostError, match=said),
        Monitor.open(machine.path) as monitor,
    ):
        monitor.await_status("query-migrate", "completed")


def test_one_that_is_gone_is_told(place: Path) -> None:
    machine = Machine(place)
    with Monitor.open(machine.path) as monitor:
        machine.thread.join()
        with pytest.raises(HostError, match="QEMU"):
            monitor.ask("stop")
