from __future__ import annotations

import pytest

from steelyard.errors import StoreError
from steelyard.report.files import replace_file, write_text


def test_folders_are_made_and_text_is_written(tmp_path):
    path = write_text(tmp_path / "new" / "a.txt", "é \udcff")
    assert path.read_bytes() == "é ?".encode()
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_text(tmp_path / "a.txt", "old")

    def fail():
        with replace_file(path) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"(?s)cannot write .*choose another place"):
        write_text(tmp_path / "file" / "a.txt", "x")
