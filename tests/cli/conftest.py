from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from steelyard.cli.app import run


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)


@pytest.fixture
def steelyard(capsys, monkeypatch, tmp_path):
    """Call the command line in the test's own directory, with a store in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path / "store"))

    def call(*words: str) -> Said:
        capsys.readouterr()
        code = run(words)
        return Said(code, *capsys.readouterr())

    return call
