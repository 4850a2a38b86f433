"""examples/ab.yaml, by the commands of its header: a gate that tells a slower build from the same one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.cli.app import run

FILE = Path(__file__).parents[2] / "examples" / "ab.yaml"
COMMANDS = re.findall(r"^#     steelyard (.*?) +# exit code (\d)", FILE.read_text(), re.MULTILINE)


def test_the_header_has_both_commands():
    assert [code for _, code in COMMANDS] == ["1", "0"]


@pytest.mark.full
@pytest.mark.parametrize(("command", "code"), COMMANDS)
def test_it_exits_as_its_header_says(command, code, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(FILE.parents[1])
    monkeypatch.setenv("STEELYARD_STORE", str(tmp_path))
    assert run((*command.split(), "-q")) == int(code), capsys.readouterr().out
