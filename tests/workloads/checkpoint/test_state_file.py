"""The state file: whole or absent on the disk, and refused when it is not what was written."""

from __future__ import annotations

import errno
import os
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.state_file import HEAD, State, read_state, write_state

MEMORY = bytearray(range(256)) * 8


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    write_state(str(path), State(7, 1, 2, MEMORY))
    return path


def test_what_was_saved_is_read_again(state: Path) -> None:
    assert read_state(str(state)) == State(7, 1, 2, MEMORY)
    assert list(state.parent.iterdir()) == [state]
    assert state.stat().st_mode & 0o777 == 0o600


def test_a_new_save_replaces_the_one_before(state: Path) -> None:
    write_state(str(state), State(8, memory=bytearray(b"other")))
    assert read_state(str(state)) == State(8, memory=bytearray(b"other"))


@given(length=st.integers(0, HEAD.size + len(MEMORY) + 3))
def test_a_torn_file_is_refused(length: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("torn") / "state"
    write_state(str(path), State(7, 1, 2, MEMORY))
    os.truncate(path, length)
    with pytest.raises(CheckpointFault, match=r"refused: it (is torn|does not begin)"):
        read_state(str(path))


@given(place=st.integers(0, HEAD.size + len(MEMORY) + 3), bit=st.integers(0, 7))
def test_an_altered_file_is_refused(place: int, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("altered") / "state"
    write_state(str(path), State(7, 1, 2, MEMORY))
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)
    with pytest.raises(CheckpointFault, match=r"refused: it (was altered|is torn|does not begin)"):
        read_state(str(path))


def test_a_head_that_promises_too_much_takes_no_memory(state: Path) -> None:
    content = bytearray(state.read_bytes())
    content[40:48] = (2**62).to_bytes(8, "little")
    state.write_bytes(content)
    with pytest.raises(CheckpointFault, match=f"torn, {len(content)} of its {2**62 + 52} bytes"):
        read_state(str(state))


def test_a_file_that_grew_is_refused(state: Path) -> None:
    with state.open("ab") as file:
        file.write(b"more")
    with pytest.raises(CheckpointFault, match="torn"):
        read_state(str(state))


def test_a_link_is_not_followed(state: Path) -> None:
    link = state.with_name("link")
    link.symlink_to(state)
    with pytest.raises(OSError, match="Too many levels"):
        read_state(str(link))
    state.with_name("new.new").symlink_to(state)
    write_state(str(state.with_name("new")), State(1))
    assert read_state(str(state)) == State(7, 1, 2, MEMORY)


def save_in_little_space(path: Path, size: int) -> int:
    """The error of a save in a process whose files may have 4 KiB; 0 if it worked."""
    child = os.fork()
    if not child:
        code = 255
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            write_state(str(path), State(9, memory=bytearray(size)))
            code = 0
        except OSError as error:
            code = error.errno or 254
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_without_space_the_earlier_state_stays(state: Path) -> None:
    assert save_in_little_space(state, 1000) == 0
    assert save_in_little_space(state, 100_000) == errno.EFBIG
    assert read_state(str(state)) == State(9, memory=bytearray(1000))
    assert list(state.parent.iterdir()) == [state]


def test_what_a_killed_save_left_is_no_obstacle(state: Path) -> None:
    state.with_name("state.new").write_bytes(b"torn")
    write_state(str(state), State(8, 1, 2, MEMORY))
    assert read_state(str(state)) == State(8, 1, 2, MEMORY)
    assert list(state.parent.iterdir()) == [state]
