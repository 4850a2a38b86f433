"""Both ends of a channel wrote down its messages: the checker says what was lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.ring.logs import MessageLog, check_channel, expand, read_runs


@given(numbers=st.lists(st.integers(0, 50)))
def test_a_log_is_read_as_it_was_written(
    numbers: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = str(tmp_path_factory.mktemp("log") / "log")
    for part in (numbers[:5], numbers[5:]):  # a restored unit goes on with the log
        log = MessageLog(path)
        for number in part:
            log.note(number)
    assert expand(read_runs(path)) == numbers


def test_a_long_log_is_short_to_tell(tmp_path: Path) -> None:
    log = MessageLog(str(tmp_path / "log"))
    for number in range(1, 1000):
        log.note(number)
    assert read_runs(str(tmp_path / "log")) == [(1, 999)]


@pytest.mark.parametrize(
    ("sent", "received", "said"),
    [
        ([(1, 9)], [(1, 4), (6, 9)], "1 messages between them were lost: 5"),
        ([(1, 9)], [(1, 2)], "7 messages between them were lost: 3, 4, 5, 6, 7 …"),
        ([(1, 9)], [(1, 9), (9, 9)], "1 messages between them were doubled: 9"),
        ([(1, 9), (9, 12)], [(1, 9), (9, 12)], "1 messages between them were doubled: 9"),
        ([(1, 2)], [(1, 3)], "1 messages between them were doubled: 3"),
        ([(1, 3)], [(1, 1), (3, 3), (2, 2)], "messages between them came out of order"),
        ([(2, 3)], [(2, 3)], "messages between them came out of order"),
    ],
)
def test_what_is_wrong_is_said(
    sent: list[tuple[int, int]], received: list[tuple[int, int]], said: str
) -> None:
    with pytest.raises(CheckpointFault, match=f"^{said}$"):
        check_channel(sent, received, "between them")


def test_a_channel_that_lost_nothing_is_counted() -> None:
    assert check_channel([(1, 9)], [(1, 9)], "between them") == 9
