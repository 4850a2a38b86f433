"""Files are written whole or not at all, and never where a planted link leads."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from accounts import Account
from steelyard import files
from steelyard.errors import StoreError
from steelyard.files import part_name, replace_whole, write_whole


def test_what_was_there_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    write_whole(tmp_path / "file", b"new", sync=True)
    with replace_whole(tmp_path / "other", sync=True) as part:
        part.write_text("made by a library")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "file": "new",
        "other": "made by a library",
    }


def test_a_name_cannot_be_guessed() -> None:
    assert re.fullmatch(r"\.report\.html\.[0-9a-f]{16}\.part", part_name("report.html"))
    assert part_name("x") != part_name("x")
    assert len(part_name("x" * 255)) < 255


def test_what_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(ZeroDivisionError), replace_whole(tmp_path / "file") as part:
        part.write_text(f"half {1 / 0}")
    monkeypatch.setattr(os, "replace", _fail)
    with pytest.raises(OSError, match="no"):
        write_whole(tmp_path / "file", b"half")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def _fail(*_: object, **__: object) -> None:
    raise OSError("no")


def test_a_planted_part_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even who guesses the name gains nothing."""
    monkeypatch.setattr(files, "part_name", lambda name: f".{name}.part")
    victim = tmp_path / "authorized_keys"
    (tmp_path / ".file.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "file", b"a key")
    with pytest.raises(FileExistsError), replace_whole(tmp_path / "file") as part:
        part.write_text("a key")
    assert not victim.exists()


def test_a_link_in_the_place_of_the_file_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name, write in (("a", write_whole), ("b", _through_aside)):
        (tmp_path / name).symlink_to(victim)
        write(tmp_path / name, b"text")
        assert not (tmp_path / name).is_symlink()
    assert victim.read_text() == "precious"


def _through_aside(path: Path, content: bytes) -> None:
    with replace_whole(path) as part:
        part.write_bytes(content)


def test_a_directory_that_is_swapped_meanwhile_changes_nothing(tmp_path: Path, mallory: Account) -> None:
    """In a directory to which others may write, all names can change between two calls."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "victim").mkdir()
    with replace_whole(tmp_path / "open" / "file") as part:
        (own,) = (tmp_path / "open").iterdir()
        own.rename(tmp_path / "stolen")
        own.symlink_to(tmp_path / "victim")
        part.write_text("text")
        own.unlink()
        (tmp_path / "stolen").rename(own)
    assert list((tmp_path / "victim").iterdir()) == []
    assert (tmp_path / "open" / "file").read_text() == "text"


@pytest.mark.parametrize("way", ["another's", "open to others"])
def test_a_directory_in_the_place_of_ours_is_not_used(
    tmp_path: Path, mallory: Account, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It can take that place between the making of ours and its opening."""
    place, theirs = tmp_path / "open", mallory.owns(tmp_path / "theirs", mode=0o700)
    place.mkdir()
    if way == "open to others":
        os.chown(theirs, os.geteuid(), os.getegid())
        theirs.chmod(0o777)
    make = os.mkdir

    def make_and_swap(name: str, mode: int, *, dir_fd: int) -> None:
        make(name, mode, dir_fd=dir_fd)
        (place / name).rename(tmp_path / "ours")
        theirs.rename(place / name)

    monkeypatch.setattr(os, "mkdir", make_and_swap)
    with pytest.raises(StoreError, match="another process is changing"):
        _through_aside(place / "file", b"text")
    assert list(place.iterdir()) == []
