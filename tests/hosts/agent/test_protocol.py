"""What all three agents promise, word by word: docs/reference/agent-protocol.md."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agents import MINDER, PROBE, Agent
from ended_process import END_AS_READ

TAIL = ("tail", "-f", "/dev/null")  # none of agent.sh's own programs has this name
KINDS = {"sh": "sh", "probe": str(PROBE), "minder": MINDER}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if not (request.param == MINDER or shutil.which(KINDS[request.param])):
        pytest.skip("steelyard-probe is not built: make probe")
    return str(request.param)


@contextmanager
def started(kind: str, **more: Any) -> Iterator[Agent]:
    made = Agent(KINDS[kind], **more)
    try:
        assert made.replies.line() == f"steelyard-agent 1 {kind} {platform.system()} {platform.machine()}"
        yield made
    finally:
        made.clean()


@pytest.fixture
def agent(kind: str) -> Iterator[Agent]:
    with started(kind) as made:
        yield made


def start(agent: Agent, name: str, folder: Path, *argv: str, **variables: str) -> None:
    given = [f"{key}={value}" for key, value in variables.items()]
    out = str(folder / "out")
    words = ("start", name, "-", str(folder), "-", out, out, str(len(given)), *given, *argv)
    assert agent.ask(*words) == (0, b"")


def test_a_program_gets_what_it_was_given(agent: Agent, tmp_path: Path) -> None:
    odd = 'it\'s \\ "$NL"\n\t*'
    start(agent, "n1:1", tmp_path, "sh", "-c", 'printf %s "$1|$ODD|$PWD"; exit 3', "sh", odd, ODD=odd)
    event, name, pid = agent.event()
    assert (event, name, pid.isdecimal()) == ("started", "n1:1", True)
    event, name, code, number, *_, leftovers = agent.event()
    assert (event, name, code, number, leftovers) == ("exited", "n1:1", "3", "-", "0")
    assert (tmp_path / "out").read_text() == f"{odd}|{odd}|{tmp_path}"


@pytest.mark.parametrize(
    ("program", "cwd", "what", "errno"),
    [
        ("no-such-program", "", "program", "ENOENT"),
        ("./plain", "", "program", "EACCES"),
        ("true", "none", "directory", "ENOENT"),
        ("true", "plain", "directory", "ENOTDIR"),
    ],
)
def test_what_cannot_be_started_is_said(
    agent: Agent, tmp_path: Path, program: str, cwd: str, what: str, errno: str
) -> None:
    (tmp_path / "plain").touch(mode=0o644)
    agent.start("n1:1", program, cwd=f"{tmp_path}/{cwd}")
    assert agent.event() == ["failed", "n1:1", what, errno]


def test_all_below_a_program_ends_with_it(agent: Agent) -> None:
    agent.started(
        "n1:1", "sh", "-c", "trap '' TERM; setsid tail -f /dev/null & tail -f /dev/null; tail -f /dev/null"
    )
    agent.started("n1:2", *TAIL)
    agent.settled(b"tail", 3)
    assert agent.ask("kill", "n1:1", "0") == (0, b"")
    event, name, code, number, *_ = agent.event()
    assert (event, name, code, number) == ("exited", "n1:1", "-", str(int(signal.SIGKILL)))
    agent.settled(b"tail", 1)
    assert agent.ask("kill", "n1:1", "0") == (0, b""), "it has just ended by itself"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts in a namespace of its own")
def test_a_process_that_ends_as_it_is_read_hides_no_other(kind: str) -> None:
    first = f'{END_AS_READ} end_as_read 1 stat; exec "$@"'

    def popen(words: list[str], **more: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(("unshare", "--mount", "sh", "-euc", first, "sh", *words), **more)

    with started(kind, popen=popen) as agent:
        program = agent.started("n1:1", "sh", "-c", "setsid tail -f /dev/null & tail -f /dev/null & wait")
        agent.settled(b"tail", 2)
        os.kill(program, signal.SIGKILL)
        event, name, *_, leftovers = agent.event()
        assert (event, name, leftovers) == ("exited", "n1:1", "2")
        agent.settled(b"tail", 0)


def test_a_scratch_directory_is_ours_or_refused(agent: Agent, tmp_path: Path) -> None:
    ours, taken = tmp_path / "ours", tmp_path / "taken"
    taken.mkdir()
    assert agent.ask("scratch", str(ours), agent.mark) == (0, b"")
    assert agent.ask("scratch", str(ours), agent.mark) == (0, b""), "it bears our mark already"
    assert (ours / ".steelyard-scratch").read_text() == agent.mark
    assert ours.stat().st_mode & 0o777 == 0o700
    code, reason = agent.ask("scratch", str(taken), agent.mark)
    assert (code, bool(reason)) == (1, True)
    agent.end()
    assert (ours.exists(), taken.exists()) == (False, True)


def test_a_removal_that_was_cut_short_at_its_last_step_is_completed(agent: Agent, tmp_path: Path) -> None:
    empty, full = tmp_path / "empty", tmp_path / "full"
    for place in (empty, full):
        assert agent.ask("scratch", str(place), agent.mark) == (0, b"")
        (place / ".steelyard-scratch").unlink()
    (full / "data").touch()
    agent.end()
    assert (empty.exists(), full.exists()) == (False, True)


def test_the_end_of_its_input_ends_all(agent: Agent) -> None:
    agent.started(
        "n1:1", "sh", "-c", "trap '' TERM; (setsid tail -f /dev/null &); tail -f /dev/null; tail -f /dev/null"
    )
    agent.settled(b"tail", 2)
    assert agent.end() == 0
    assert not agent.bearers()
