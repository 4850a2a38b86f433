"""README.md as a new user follows it: every command of it, in its order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.spec.load import load, load_source
from steelyard.spec.yaml.source import read

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
OURS = re.findall(r"^\$ (steelyard .*)$", README, re.MULTILINE)
TUTORIALS = "".join(path.read_text() for path in (ROOT / "docs" / "tutorials").glob("*.md"))
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def user(enterable):
    """A directory with a `steelyard` on PATH, and a shell in it."""
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
        done = user(line)
        said = f"$ {line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, said
        assert done.returncode in (0, 3), said  # a busy machine has no trial that counts, and says so
        assert "cell" in done.stdout, said


def test_the_page_shows_what_there_is():
    """What a new user types is here and in the tutorials: see test_tutorials.py."""
    assert OURS
    assert len(OURS) + len(re.findall(r"^\$ steelyard ", TUTORIALS, re.MULTILINE)) >= 10
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path


def test_its_experiment_is_the_one_of_the_picture():
    (block,) = YAML.findall(README)
    shown = load_source(read(block, "README.md"))
    example, _ = load(ROOT / "examples" / "outage.yaml")
    assert shown.model_dump(exclude={"about"}) == example.model_dump(exclude={"about"})


def test_every_command_of_the_program_is_on_the_page():
    from steelyard.cli.app import COMMANDS

    named = set(re.findall(r"`([a-z]+)", README.split("## Commands")[1].split("\n## ")[0]))
    assert set(COMMANDS) <= named


@pytest.mark.parametrize("target", ["demo", "test", "test-full", "check", "bench"])
def test_make_has_the_targets_that_the_page_names(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
