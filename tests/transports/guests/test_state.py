"""A saved guest goes on only from what was saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.errors import HostError
from steelyard.transports.guests.state import SavedState


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "n1.state"
    path.write_bytes(bytes(range(256)) * 9000)
    return path


def test_what_is_as_it_was_is_believed(file: Path) -> None:
    state = SavedState.seal(file)
    assert state.size == 256 * 9000
    state.check("n1")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[1 << 20] ^= 1
    path.write_bytes(content)


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [flip, tear])
def test_one_flipped_bit_and_a_torn_end_are_refused(file: Path, damage: Callable[[Path], None]) -> None:
    state = SavedState.seal(file)
    damage(file)
    with pytest.raises(HostError, match=r"guest n1: .* is not what was saved") as refused:
        state.check("n1")
    assert "it was changed meanwhile" in (refused.value.hint or "")


def test_one_that_is_gone_or_became_a_link_is_refused(file: Path, tmp_path: Path) -> None:
    state = SavedState.seal(file)
    file.rename(tmp_path / "elsewhere")
    with pytest.raises(HostError, match="guest n1: the file with its state cannot be read"):
        state.check("n1")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError, match="It is a link"):
        state.check("n1")
