"""Files that somebody planted are refused at once, and never read without end."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from steelyard.untrusted import LONGEST_LINE, open_regular, read_content, read_lines


def plant(kind: str, path: Path) -> None:
    """Put something else than a file in the place of one."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.with_name("secret").write_text("secret")
        path.symlink_to("secret")
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "endless"])
def test_only_a_regular_file_is_read(kind, tmp_path):
    plant(kind, tmp_path / "x")
    for read in (open_regular, read_content):
        with pytest.raises(OSError, match=r"link|regular|directory"):
            read(tmp_path / "x")


def test_a_file_is_read_up_to_a_size(tmp_path):
    (tmp_path / "x").write_bytes(b"12345")
    assert read_content(tmp_path / "x", 5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        read_content(tmp_path / "x", 4)
    os.truncate(tmp_path / "x", 1 << 40)  # a hole, which takes no space
    with pytest.raises(OSError, match="larger than 65536 KiB"):
        read_content(tmp_path / "x")


def test_a_line_without_end_comes_in_parts(tmp_path):
    (tmp_path / "x").write_bytes(b"first\nno end")
    os.truncate(tmp_path / "x", 1 << 40)
    with open_regular(tmp_path / "x") as file:
        found = read_lines(file)
        assert next(found) == b"first\n"
        tracemalloc.start()
        assert {len(next(found)) for _ in range(9)} == {LONGEST_LINE}
        assert tracemalloc.get_traced_memory()[1] < 4 * LONGEST_LINE
        tracemalloc.stop()
