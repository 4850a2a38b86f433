"""The minder, driven through pipes as a controller drives it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import MINDER, Agent, words
from patience import PATIENCE, until
from steelyard.hosts.token import Token


@contextmanager
def bare_minder() -> Iterator[Agent]:
    """A minder that has greeted."""
    agent = Agent(MINDER)
    try:
        machine = os.uname()
        assert agent.replies.line() == f"steelyard-agent 1 minder {machine.sysname} {machine.machine}"
        yield agent
        agent.end()
    finally:
        agent.clean()


def start_tree(agent: Agent) -> None:
    agent.started("1", "sh", "-c", "trap '' TERM; (setsid sleep 300 &); sleep 300")


def is_no_request(line: bytes) -> bool:
    return b"\n" not in line


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"\xff\xfe\0\n",
        b"{}\n",
        b"dance\n",
        b"start\n",
        b"start 2 - / - /dev/null /dev/null many true\n",
        b"start 2 17 / - /dev/null /dev/null 0 true\n",
        b"start 2 - / - /dev/null /dev/null 1 true\n",
        b"kill 1 soon\n",
        b"kill 1 1 1\n",
        b"scratch /x\n",
        b"kill  1 1\n",
        b"'kill 1 1\n",
        b"'" * 100_001 + b"\n",
        b"1" * 10_000 + b"\n",
    ],
)
def test_garbage_ends_the_lease_and_leaves_nothing(garbage: bytes) -> None:
    with bare_minder() as agent:
        start_tree(agent)
        agent.stdin.write(garbage)
        agent.process.wait()
        assert not agent.bearers()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(garbage=st.binary(min_size=1).filter(is_no_request))
def test_any_garbage_leaves_nothing(garbage: bytes) -> None:
    with bare_minder() as agent:
        start_tree(agent)
        agent.stdin.write(garbage + b"\n")
        agent.process.wait()
        assert not agent.bearers()


def test_half_a_message_at_the_end_leaves_nothing() -> None:
    with bare_minder() as agent:
        start_tree(agent)
        agent.stdin.write(b"start 2 -")
        agent.end()
        assert not agent.bearers()


def test_a_controller_that_does_not_listen_cannot_hold_the_minder_up() -> None:
    with bare_minder() as agent:
        start_tree(agent)
        for _ in range(10_000):
            agent.send("scratch", "/proc/none/x", "mark")
        for number in range(10_000):
            agent.send("start", f"no-{number}", "-", "/none", "-", "/dev/null", "/dev/null", "0", "true")
        agent.send("kill", "1", "0")
        assert until(lambda: not agent.bearers())
        codes = [agent.reply()[0] for _ in range(20_001)]
        events = [agent.event()[:2] for _ in range(10_001)]
    assert codes == [1] * 10_000 + [0] * 10_001
    assert events == [["failed", f"no-{number}"] for number in range(10_000)] + [["exited", "1"]]


def test_a_minder_whose_controller_is_dead_already_does_not_stay() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    ours = Token.of("test-dead")
    token = Token(ours.run, ours.pid_namespace, gone.pid, 1)
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words(MINDER, token, PATIENCE), **streams) as started:
        try:
            assert started.wait() == 0
        finally:
            started.kill()
