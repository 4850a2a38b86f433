"""Programs of ours that come with the package: copied whole, for the host's kind of machine."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

from steelyard.errors import SteelyardError
from steelyard.model.tool import Tool
from steelyard.tools.find import digest, find_missing, host_commands, install_directory, sources

PROGRAM = "#!/bin/sh\necho {}\n"


@pytest.fixture
def tool(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "built").mkdir()
    return Tool("ours", bundled=str(tmp_path / "built"))


def build(tool: Tool, said: str, machine: str = platform.machine()) -> None:
    (Path(tool.bundled) / f"ours-{machine}").write_text(PROGRAM.format(said))


def bring(tool: Tool) -> list[subprocess.CompletedProcess[str]]:
    commands = host_commands(tool, install_directory(tool), sources(tool))
    return [subprocess.run(argv, capture_output=True, text=True, check=False) for argv in commands]


def said(tool: Tool) -> str:
    return subprocess.run(tool.argv(), capture_output=True, text=True, check=True).stdout.strip()


def test_it_is_copied_and_replaced(tool):
    build(tool, "one")
    build(tool, "nothing", "other")
    assert {done.returncode for done in bring(tool)} == {0}
    assert said(tool) == "one"
    before = digest(tool)
    build(tool, "two")
    assert digest(tool) != before
    bring(tool)
    assert said(tool) == "two"
    assert [path.name for path in (install_directory(tool) / "bin").iterdir()] == ["ours"]


def test_one_that_was_not_built_is_missing_and_says_how(tool):
    assert find_missing([tool]) == [tool]
    with pytest.raises(SteelyardError, match=r"not built\n`make probe` builds it"):
        sources(tool)
    build(tool, "one")
    assert find_missing([tool]) == []


def test_one_for_another_machine_only_is_no_use(tool):
    build(tool, "one", "other")
    failed = bring(tool)[0]
    assert failed.returncode == 1
    assert f"ours was not built for {platform.machine()}: run make probe" in failed.stderr
