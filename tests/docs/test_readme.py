"""README.md as a new user follows it: every command of it, in a clone's place, in its order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text()
LINES = [line for block in BLOCK.findall(README) for line in block.splitlines()]
OURS = [line.split("  #")[0].strip() for line in LINES if line.startswith("steelyard ")]

# What a command must end with, where that is not 0.
CODES = {"examples/failing.yaml": 1}


@pytest.fixture
def user(enterable):
    """A directory with the examples and a `steelyard` on PATH, and a shell in it."""
    (enterable / "examples").symlink_to(ROOT / "examples")
    (enterable / "steelyard").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m steelyard "$@"\n')
    (enterable / "steelyard").chmod(0o755)
    env = {**os.environ, "PATH": f"{enterable}:{os.environ['PATH']}"}
    env.pop("STEELYARD_STORE", None)

    def type_(line: str) -> subprocess.CompletedProcess[str]:
        argv = ["bash", "-c", line]
        return subprocess.run(argv, cwd=enterable, env=env, capture_output=True, text=True, check=False)

    return type_


@pytest.mark.full
def test_every_command_does_what_the_page_says(user):
    for line in OURS:
        done = user(line.partition(";")[0])
        expected = next((code for words, code in CODES.items() if words in line), 0)
        said = f"$ {line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, said
        # A busy machine leaves requirements undecided, or has no trial that counts, and says so.
        measures = not line.startswith("steelyard cluster")
        assert done.returncode in ((expected, 1, 3) if measures else (expected,)), said


def test_the_page_shows_what_there_is():
    assert len(OURS) >= 10
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path


def test_every_command_of_the_program_is_on_the_page():
    from steelyard.cli.app import COMMANDS

    named = set(re.findall(r"`([a-z]+)", README.split("## Commands")[1].split("\n## ")[0]))
    assert set(COMMANDS) <= named


@pytest.mark.parametrize("target", ["demo", "test", "test-full", "check", "bench"])
def test_make_has_the_targets_that_the_page_names(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
