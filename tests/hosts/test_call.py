"""Programs on the controller's machine: what they say, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from own_children import children
from patience import PATIENCE, comes, until
from steelyard.errors import HostError
from steelyard.hosts.call import Answer, MissingProgram, call
from steelyard.hosts.minder.processes import read_process

STAYS = 'sleep 300 & echo $! >"$0"; echo begun; wait'


def gone(pid: int) -> bool:
    """Whether a process ends; one that nobody has waited for yet has ended."""

    def ended() -> bool:
        entry = read_process(pid)
        return entry is None or entry.is_dead

    return until(ended)


def said(*argv: str, **options: Any) -> Answer:
    return asyncio.run(call(argv, **{"seconds": PATIENCE} | options))


def test_both_streams_the_code_and_the_words_are_told() -> None:
    answer = said("sh", "-c", 'cat; echo "$0" >&2; exit 3', "a b", stdin="given\n")
    assert (answer.stdout, answer.stderr, answer.code, answer.has_failed) == ("given\n", "a b\n", 3, True)
    assert answer.complaint == "a b"


def test_nothing_is_on_standard_input_unless_given() -> None:
    assert said("cat").stdout == ""


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_all_of_a_long_text_goes_in_and_comes_out(size: int) -> None:
    assert said("cat", stdin="x" * size).stdout == "x" * size


def test_what_a_signal_ended_has_128_and_its_number() -> None:
    answer = said("sh", "-c", "kill -SEGV $$")
    assert (answer.code, answer.complaint) == (139, "it exited with code 139 and printed nothing")


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert said("printf", r"\377!").stdout == "\N{REPLACEMENT CHARACTER}!"


def test_its_environment_is_ours_or_the_one_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLOUR", "green")
    say = ("sh", "-c", "echo ${COLOUR-none}")
    assert said(*say).stdout == "green\n"
    assert said(*say, env={"PATH": os.environ["PATH"]}).stdout == "none\n"


def test_a_program_that_is_not_there_is_named_with_the_path() -> None:
    with pytest.raises(MissingProgram, match="cannot run no-such-program: No such file") as caught:
        said("no-such-program", env={"PATH": "/nowhere"})
    assert "/nowhere" in str(caught.value.hint)


def test_a_program_that_may_not_be_started_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(MissingProgram, match="Permission denied"):
        said(str(tmp_path / "text"))


def test_more_output_than_allowed_is_refused() -> None:
    assert said("printf", "%010d", "0", most=10).stdout == "0" * 10
    with pytest.raises(HostError, match="more than 9 bytes"):
        said("printf", "%010d", "0", most=9)


def test_a_program_that_never_stops_printing_is_ended_at_the_limit() -> None:
    for stream in ("yes", "yes >&2"):
        with pytest.raises(HostError, match="more than 100000 bytes"):
            said("sh", "-c", stream, most=100_000)


def out_of_time(script: str, child: Path) -> Answer:
    """What is said of a script that has told its child, however slowly, and is not done."""
    for seconds in (1, 10, 100):
        answer = said("sh", "-c", script, str(child), seconds=seconds)
        if child.exists() and child.read_text():
            return answer
    raise AssertionError("the script did not begin")


def test_a_child_that_holds_its_output_is_ended_when_the_time_is_up(tmp_path: Path) -> None:
    assert out_of_time('sleep 300 & echo $! >"$0"', tmp_path / "child").code is None
    assert gone(int((tmp_path / "child").read_text()))


def test_when_its_time_is_up_it_ends_with_all_that_it_started(tmp_path: Path) -> None:
    answer = out_of_time(STAYS, tmp_path / "child")
    assert (answer.code, answer.stdout, answer.complaint) == (None, "", "it did not answer in time")
    assert gone(int((tmp_path / "child").read_text()))


def test_when_cancelled_it_ends_with_all_that_it_started(tmp_path: Path) -> None:
    async def cancelled() -> None:
        child = tmp_path / "child"
        calling = asyncio.create_task(call(("sh", "-c", STAYS, str(child)), seconds=PATIENCE))
        assert await comes(lambda: child.exists() and child.read_text())
        calling.cancel()
        await calling

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert gone(int((tmp_path / "child").read_text()))


def test_its_end_is_waited_for_even_when_it_closed_its_streams(tmp_path: Path) -> None:
    script = 'exec >&- 2>&-; sleep 0.3; echo >"$0"; exit 4'
    assert said("sh", "-c", script, str(tmp_path / "late")).code == 4
    assert (tmp_path / "late").exists()


def test_many_at_once_leave_no_open_files_and_no_children() -> None:
    def kept() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), len(children())

    async def many() -> None:
        await call(("true",))
        before = kept()
        answers = await asyncio.gather(*(call(("sh", "-c", f"echo {number}")) for number in range(20)))
        assert [answer.stdout for answer in answers] == [f"{number}\n" for number in range(20)]
        assert kept() == before

    asyncio.run(many())
