from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.hosts.minder.processes import read_process
from steelyard.hosts.token import Token

if TYPE_CHECKING:
    from conftest import Run

NUMBERS = st.integers(min_value=0, max_value=10**18)
RUNS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", fullmatch=True)


@given(st.builds(Token, RUNS, NUMBERS, NUMBERS, NUMBERS))
def test_what_is_written_is_read_again(token: Token) -> None:
    assert Token.from_text(str(token)) == token


@given(st.one_of(st.text(), st.from_regex(r"[\w.-]*:[\w]*:[\w]*:[\w]*\s?", fullmatch=True)))
def test_a_strangers_text_is_a_token_only_if_it_is_written_like_one(text: str) -> None:
    token = Token.from_text(text)
    assert token is None or str(token) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "run",
        "run:1:2",
        "run:1:2:3:4",
        ":1:2:3",
        "../run:1:2:3",
        "a b:1:2:3",
        "run:-1:2:3",
        "run:+1:2:3",
        "run:01:2:3",
        "run:1:2:3\n",
        "run:1:2:٣",
        "run:1:2:1_0",
        "run:1:2:" + "9" * 20,
        "r" * 201 + ":1:2:3",
    ],
)
def test_malformed_tokens_are_none(text: str) -> None:
    assert Token.from_text(text) is None


def test_a_run_id_that_could_not_be_read_again_is_refused() -> None:
    with pytest.raises(ValueError, match="a:b"):
        Token.of("a:b")


def test_this_process_is_alive() -> None:
    mine = Token.of("run")
    assert mine.controller == os.getpid()
    assert not mine.is_dead()


def test_a_pid_that_another_process_got_is_a_dead_controller() -> None:
    mine = Token.of("run")
    assert replace(mine, controller_start=mine.controller_start - 1).is_dead()


def test_among_other_pids_nobody_is_known_to_be_dead() -> None:
    mine = Token.of("run")
    assert not replace(mine, pid_namespace=mine.pid_namespace + 1, controller_start=0).is_dead()


def test_a_controller_is_dead_from_the_moment_it_ends(run: Run) -> None:
    child = run.popen("sleep", "300")
    found = read_process(child.pid)
    assert found
    token = replace(Token.of("run"), controller=child.pid, controller_start=found.start)
    assert not token.is_dead()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert token.is_dead()  # though only a zombie
    child.wait()
    assert token.is_dead()


def test_pids_that_cannot_exist_are_dead() -> None:
    assert replace(Token.of("run"), controller=10**18).is_dead()
