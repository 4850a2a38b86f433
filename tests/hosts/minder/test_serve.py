"""The minder, spoken to over a bare socket."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.hosts import minder

if TYPE_CHECKING:
    from conftest import Run


@contextmanager
def bare_minder(run: Run) -> Iterator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    """A minder, and our end of its lease after it said that it is ready."""
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-I", "-S", str(Path(minder.__file__).parent), str(run.token)]
    with ours, subprocess.Popen(argv, stdin=theirs, stderr=subprocess.DEVNULL) as started:
        theirs.close()
        try:
            assert hear(ours) == {"event": "ready"}
            yield ours, started
            ours.close()
            started.wait()
        finally:
            started.kill()


def say(lease: socket.socket, **message: object) -> None:
    lease.sendall(json.dumps(message).encode() + b"\n")


def hear(lease: socket.socket) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        data += lease.recv(1)
    answer: dict[str, Any] = json.loads(data)
    return answer


def start_tree(lease: socket.socket) -> None:
    argv = ["sh", "-c", "trap '' TERM; (setsid sleep 300 &); sleep 300"]
    where = {"cwd": "/", "stdin": None, "stdout": "/dev/null", "stderr": "/dev/null"}
    say(lease, do="start", id="1", argv=argv, env=dict(os.environ), **where)
    assert hear(lease)["event"] == "started"


def is_no_request(line: bytes) -> bool:
    return b"\n" not in line


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"\xff\xfe\0\n",
        b"{}\n",
        b"[1]\n",
        b'{"do": "dance"}\n',
        b'{"do": "start"}\n',
        b'{"do": "start", "id": "2", "argv": 7, "env": {}}\n',
        b'{"do": "kill", "id": "1", "grace": "soon"}\n',
        b'{"do": "scratch", "path": 1, "mark": "x"}\n',
        b"[" * 100_000 + b"\n",
        b"1" * 10_000 + b"\n",
    ],
)
def test_garbage_ends_the_lease_and_leaves_nothing(run: Run, garbage: bytes) -> None:
    with bare_minder(run) as (lease, started):
        start_tree(lease)
        lease.sendall(garbage)
        started.wait()
        assert not run.bearers()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(garbage=st.binary(min_size=1).filter(is_no_request))
def test_any_garbage_leaves_nothing(run: Run, garbage: bytes) -> None:
    with bare_minder(run) as (lease, started):
        start_tree(lease)
        lease.sendall(garbage + b"\n")
        started.wait()
        assert not run.bearers()


def test_half_a_message_at_the_end_leaves_nothing(run: Run) -> None:
    with bare_minder(run) as (lease, _):
        start_tree(lease)
        lease.sendall(b'{"do": "st')
    assert not run.bearers()


def test_a_controller_that_does_not_listen_cannot_hold_the_minder_up(run: Run) -> None:
    with bare_minder(run) as (lease, _):
        start_tree(lease)
        for number in range(10_000):
            say(lease, do="scratch", id=str(number), path="/proc/none/x", mark="")
        say(lease, do="kill", id="1", grace=0)
        assert run.until(lambda: not run.bearers())
        answers = [hear(lease)["event"] for _ in range(10_001)]
    assert answers == ["scratch"] * 10_000 + ["exited"]


def test_a_minder_whose_controller_is_dead_already_does_not_stay(run: Run) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    token = f"{run.id}:{run.token.pid_namespace}:{gone.pid}:1"
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-I", "-S", str(Path(minder.__file__).parent), token]
    with ours, theirs, subprocess.Popen(argv, stdin=theirs) as started:
        try:
            assert started.wait() == 0
        finally:
            started.kill()
