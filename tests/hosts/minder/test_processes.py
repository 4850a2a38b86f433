from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING

from steelyard.hosts.minder import TOKEN_VARIABLE
from steelyard.hosts.minder.processes import (
    descendants,
    find_variable,
    kill_all,
    list_processes,
    read_environment,
    read_process,
)

if TYPE_CHECKING:
    from conftest import Run


def test_a_program_may_be_called_anything(run: Run) -> None:
    odd = run.folder / "a) S 1 (b"
    shutil.copy("/bin/sleep", odd)
    child = run.popen(str(odd), "300")
    found = read_process(child.pid)
    assert found
    assert (found.pid, found.parent, found.session) == (child.pid, os.getpid(), os.getsid(0))


def test_descendants_are_all_that_is_below(run: Run) -> None:
    env = {**os.environ, TOKEN_VARIABLE: str(run.token)}
    shell = run.popen("sh", "-c", "sleep 300 & echo $!; wait", env=env)
    assert shell.stdout
    sleep = int(shell.stdout.readline())
    assert descendants(list_processes(), [shell.pid]) == {shell.pid, sleep}


def test_an_environment_is_whole_from_the_first_look(run: Run) -> None:
    for number in range(60):
        child = run.popen("sleep", "300", env={"A": "1", "NUMBER": str(number)})
        found = read_environment(child.pid)
        assert find_variable(found, "NUMBER") == str(number)
        assert find_variable(found, "UMBER") is None


def test_an_empty_environment_is_seen_as_one(run: Run) -> None:
    child = run.popen("sleep", "300", env={})
    assert read_environment(child.pid) == b"\0"
    found = read_process(child.pid)
    assert found
    assert found.bare


def test_what_is_gone_has_no_environment(run: Run) -> None:
    child = run.popen("true")
    child.wait()
    assert read_process(child.pid) is None
    assert find_variable(read_environment(child.pid), "PATH") is None


def test_a_strike_freezes_all_before_it_kills_and_leaves_out_what_it_may_not_touch() -> None:
    sent: list[tuple[str, int]] = []
    looks = iter([{"a", "root's"}, {"a", "root's", "b"}, {"a", "root's", "b", "gone"}])
    seen: set[str] = set()

    def look() -> set[str]:
        seen.update(next(looks, seen))
        return set(seen)

    def signal_one(name: str, number: int) -> bool:
        if name == "root's":
            raise PermissionError
        sent.append((name, number))
        return name != "gone"

    assert kill_all(look, signal_one) == {"a", "b"}
    assert sent[:3] == [(name, signal.SIGSTOP) for name in ("a", "b", "gone")]
    assert sorted(sent[3:]) == [(name, signal.SIGKILL) for name in ("a", "b", "gone")]
