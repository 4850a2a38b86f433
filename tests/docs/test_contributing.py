"""CONTRIBUTING.md, "Add a workload in ten minutes", followed literally in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split("## Add a workload in ten minutes")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A copy of what a contributor has, with the files of the section in place."""
    copy = tmp_path_factory.mktemp("clone")
    for name in ("src", "tests", "scripts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for language, block in BLOCK.findall(section()):
        named = re.match(r"# (\S+)\n", block)
        if language != "console" and named:
            (copy / named[1]).write_text(block)
    return copy


def commands() -> list[str]:
    blocks = [block for language, block in BLOCK.findall(section()) if language == "console"]
    return [line for block in blocks for line in block.splitlines() if line]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_every_command_does_what_the_page_says(clone, tmp_path):
    for line in commands():
        words = line.split()
        done = typed(words, clone, tmp_path)
        said = f"$ {line}\n{done.stdout}{done.stderr}"
        assert done.returncode == 0 or "no trial counts" in done.stderr, said  # a busy machine disturbs both
        assert re.search(r"hash" if words[0] == "steelyard" else r"\b[1-9]\d* passed", done.stdout), said


def typed(words: list[str], clone: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """A command of the page, run in the copy."""
    module = {"steelyard": ["-m", "steelyard"], "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"]}
    env = {**os.environ, "PYTHONPATH": str(clone / "src"), "TMPDIR": str(tmp_path), "PYTEST_ADDOPTS": ""}
    env["STEELYARD_RUNTIME_DIR"] = str(tmp_path)
    env.pop("STEELYARD_TEST_SESSION", None)  # it is a session of its own, and must leave ours alone
    argv = [sys.executable, *module[words[0]], *words[1:]]
    return subprocess.run(argv, cwd=clone, env=env, capture_output=True, text=True, check=False)


def test_the_page_has_files_and_commands(clone):
    assert (clone / "src/steelyard/workloads/openssl_speed.py").exists()
    assert (clone / "openssl.yaml").exists()
    assert len(commands()) >= 4
