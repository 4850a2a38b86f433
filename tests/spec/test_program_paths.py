"""Which words of `run` are files beside the experiment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.keys.reference import FOLDER
from steelyard.spec.program_paths import resolve_paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("server.py", "data.txt", "prog", "test"):
        (tmp_path / name).touch()
    (tmp_path / "tools.d").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["python3", "server.py", "80"], ["server.py"]),
        (["python3", "-u", "server.py", "data.txt"], ["server.py"]),
        (["./prog", "data.txt"], ["./prog", "data.txt"]),
        (["taskset", "-c", "0", "./prog"], ["./prog"]),
        (["make", "test"], []),
        (["sort", "-o", "out.txt", "data.txt"], []),
        (["ls", "tools.d"], []),
        (["python3", "other.py"], []),
        (["server.py"], []),
        (["echo", 7, "./data.txt"], ["./data.txt"]),
    ],
)
def test_the_program_and_its_first_word_are(folder, words, meant):
    expected = [str(folder / word) if word in meant else word for word in words]
    assert resolve_paths(words, {FOLDER: str(folder)}) == expected
    assert resolve_paths(words, {}) == words, "nobody knows the folder"


@given(st.lists(st.text()))
def test_any_word_may_stand_there(words):
    assert len(resolve_paths(words, {FOLDER: "/nowhere"})) == len(words)
