from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from steelyard.remote.minder import SCRATCH_MARKER
from steelyard.remote.minder.scratch import make_scratch, remove_scratch


def test_what_was_made_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    make_scratch(os.fsencode(place), "run")
    (place / "deep" / "er").mkdir(parents=True)
    (place / "deep" / "file").write_text("x")
    os.mkfifo(place / "pipe")
    assert remove_scratch(os.fsencode(place), "run")
    assert not place.exists()


@pytest.mark.parametrize("marker", [None, "", "another", "run\n"])
def test_what_does_not_name_the_run_stays(tmp_path: Path, marker: str | None) -> None:
    if marker is not None:
        (tmp_path / SCRATCH_MARKER).write_text(marker)
    assert not remove_scratch(os.fsencode(tmp_path), "run")
    assert tmp_path.exists()


def test_a_marker_elsewhere_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "marker").write_text("run")
    place = tmp_path / "place"
    place.mkdir()
    (place / SCRATCH_MARKER).symlink_to(tmp_path / "marker")
    with pytest.raises(OSError, match="symbolic links"):
        remove_scratch(os.fsencode(place), "run")
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
        remove_scratch(os.fsencode(tmp_path / "alias"), "run")
    assert remove_scratch(os.fsencode(place), "run")
    assert (outside / "keep").read_text() == "keep"


def test_what_is_there_already_is_not_marked(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    make_scratch(os.fsencode(place), "run")
    assert list(place.iterdir()) == []


def test_a_removal_cut_short_can_be_taken_up_again(tmp_path: Path) -> None:
    place = tmp_path / "place"
    make_scratch(os.fsencode(place), "run")
    (place / "1" / "2" / "3").mkdir(parents=True)
    (place / "file").write_text("x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 3, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            remove_scratch(os.fsencode(place), "run")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert {SCRATCH_MARKER, "1"} <= {path.name for path in place.iterdir()}
    assert remove_scratch(os.fsencode(place), "run")
    assert not place.exists()
