from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from accounts import Account
from steelyard.hosts.minder import SCRATCH_MARKER
from steelyard.hosts.minder.scratch import make_scratch, remove_scratch


def test_what_was_made_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    make_scratch(os.fsencode(place), "run")
    (place / "deep" / "er").mkdir(parents=True)
    (place / "deep" / "file").write_text("x")
    os.mkfifo(place / "pipe")
    assert remove_scratch(os.fsencode(place), "run".__eq__)
    assert not place.exists()


@pytest.mark.parametrize("marker", [None, "", "another", "run\n"])
def test_what_does_not_name_the_run_stays(tmp_path: Path, marker: str | None) -> None:
    (tmp_path / "data").touch()
    if marker is not None:
        (tmp_path / SCRATCH_MARKER).write_text(marker)
    assert not remove_scratch(os.fsencode(tmp_path), "run".__eq__)
    assert tmp_path.exists()


def test_a_marker_elsewhere_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "marker").write_text("run")
    place = tmp_path / "place"
    place.mkdir()
    (place / SCRATCH_MARKER).symlink_to(tmp_path / "marker")
    assert not remove_scratch(os.fsencode(place), "run".__eq__)
    assert place.exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("keep")
    place = tmp_path / "place"
    make_scratch(os.fsencode(place), "run")
    (place / "link").symlink_to(outside)
    (tmp_path / "alias").symlink_to(place)
    with pytest.raises(OSError, match=r"alias"):
        remove_scratch(os.fsencode(tmp_path / "alias"), "run".__eq__)
    assert remove_scratch(os.fsencode(place), "run".__eq__)
    assert (outside / "keep").read_text() == "keep"


def make(place: Path, mark: str = "run") -> None:
    make_scratch(os.fsencode(place), mark)


def test_missing_parents_are_made_for_passage_only(tmp_path: Path) -> None:
    make(tmp_path / "a" / "b" / "place")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")]
    assert modes == [0o711, 0o711]


def test_what_is_there_already_is_taken_only_with_our_mark(tmp_path: Path) -> None:
    place = tmp_path / "place"
    make(place)
    make(place)
    place.chmod(0o711)  # opened for a server with a user of its own
    make(place)
    with pytest.raises(FileExistsError, match="not a directory of this run"):
        make(place, "another run")
    (tmp_path / "bare").mkdir(mode=0o700)
    with pytest.raises(FileExistsError, match="not a directory of this run"):
        make(tmp_path / "bare")


@pytest.mark.parametrize("mode", [0o750, 0o702, 0o777])
def test_what_others_may_read_or_write_is_not_taken(tmp_path: Path, mode: int) -> None:
    make(tmp_path / "place")
    (tmp_path / "place").chmod(mode)
    with pytest.raises(FileExistsError, match="not a directory of this run"):
        make(tmp_path / "place")


def test_a_link_to_a_directory_of_ours_is_not_taken(tmp_path: Path) -> None:
    make(tmp_path / "place")
    (tmp_path / "link").symlink_to(tmp_path / "place")
    with pytest.raises(OSError, match="link"):
        make(tmp_path / "link")


def test_the_directory_of_another_account_is_not_taken(tmp_path: Path, mallory: Account) -> None:
    """Who makes it first would read what we write there, and could put his own files in the place of ours."""
    place = mallory.owns(tmp_path / "place", mode=0o700)
    mallory.owns(place / SCRATCH_MARKER, "run")
    with pytest.raises(FileExistsError, match="not a directory of this run"):
        make(place)
    assert not remove_scratch(os.fsencode(place), "run".__eq__)


def test_a_marker_of_another_account_does_not_count(tmp_path: Path, mallory: Account) -> None:
    (tmp_path / "place").mkdir(mode=0o700)
    mallory.owns(tmp_path / "place" / SCRATCH_MARKER, "run")
    with pytest.raises(FileExistsError, match="not a directory of this run"):
        make(tmp_path / "place")


def test_a_parent_of_another_account_is_refused(tmp_path: Path, mallory: Account) -> None:
    parent = mallory.owns(tmp_path / "parent")
    with pytest.raises(PermissionError, match=f"parent: it belongs to {mallory.name}"):
        make(parent / "deep" / "place")
    assert list(parent.iterdir()) == []


def test_a_parent_that_others_may_write_to_is_refused_unless_it_is_sticky(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(PermissionError, match="open: others may write to it; `steelyard trust"):
        make(tmp_path / "open" / "place")
    (tmp_path / "open").chmod(0o1777)
    make(tmp_path / "open" / "place")


# In a process of its own: in ours, whatever closes a file in the meantime would let the removal go on.
REMOVE_WITH_FEW_FILES = """
import resource, sys
from steelyard.hosts.minder.scratch import remove_scratch
resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))
remove_scratch(sys.argv[1].encode(), "run".__eq__)
"""


def test_a_removal_cut_short_can_be_taken_up_again(tmp_path: Path) -> None:
    place = tmp_path / "place"
    make(place)
    (place / "1" / "2" / "3").mkdir(parents=True)
    (place / "file").write_text("x")
    command = [sys.executable, "-c", REMOVE_WITH_FEW_FILES, place]
    removal = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert "Too many open files" in removal.stderr
    assert {SCRATCH_MARKER, "1"} <= {path.name for path in place.iterdir()}
    assert remove_scratch(os.fsencode(place), "run".__eq__)
    assert not place.exists()


def test_a_removal_cut_short_at_its_last_step_is_completed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    make(place)
    (place / SCRATCH_MARKER).unlink()
    (place / "data").touch()
    assert not remove_scratch(os.fsencode(place), "run".__eq__), "it may hold somebody's data"
    (place / "data").unlink()
    assert remove_scratch(os.fsencode(place), "run".__eq__)
    assert not place.exists()
