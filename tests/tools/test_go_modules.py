"""Tools that Go builds: what is pinned, and that a build leaves programs alone; stand-ins for pip and Go."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from steelyard.model.tool import Tool
from steelyard.spec.tool_needs import all_tools
from steelyard.tools.find import find_missing, install_directory, local_commands

PYTHON = r"""#!/bin/sh
echo "$*" >> "$CALLS"
case $* in
"-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
*--require-hashes*) [ -z "$REFUSE" ] || exit 1; cp "$GO" "${0%/*}/go" ;;
esac
"""
GO = r"""#!/bin/sh
echo "go $* in $PWD: $GOFLAGS $GOTOOLCHAIN $GOPROXY" >> "$CALLS"
mkdir -p "$GOMODCACHE/x" "$GOCACHE/y"
while [ "$1" != -o ]; do shift; done
echo '#!/bin/sh' > "$2/measure"; chmod +x "$2/measure"
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "module of ours"
    folder.mkdir()
    for name in ("go.mod", "go.sum", "requirements.txt"):
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def tool(module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    for name, script in (("python", PYTHON), ("go", GO)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    for name, value in {"CALLS": "calls", "GO": "go", "REFUSE": "", "XDG_CACHE_HOME": "cache"}.items():
        monkeypatch.setenv(name, str(tmp_path / value) if value else "")
    monkeypatch.setenv("GOPROXY", "the-users")
    return Tool("measure", go=str(module))


def carry_out(tool: Tool) -> list[int]:
    codes = []
    for argv in local_commands(tool):
        codes.append(subprocess.run(argv, check=False).returncode)
        if codes[-1]:
            break
    return codes


def test_a_build_leaves_its_programs_and_nothing_else(tool, module, tmp_path):
    assert find_missing([tool]) == [tool]
    assert carry_out(tool) == [0, 0, 0]
    assert find_missing([tool]) == []
    there = install_directory(tool)
    assert sorted(path.name for path in there.rglob("*")) == ["bin", "complete", "measure"]
    said = (tmp_path / "calls").read_text()
    assert f"--require-hashes --only-binary :all: --requirement {module}/requirements.txt" in said
    assert f"in {module}: -mod=readonly -modcacherw local the-users" in said
    assert os.access(there / "bin" / "measure", os.X_OK)


def test_nothing_is_built_by_another_go(tool, tmp_path, monkeypatch):
    monkeypatch.setenv("REFUSE", "yes")
    assert carry_out(tool)[-1] != 0
    assert find_missing([tool]) == [tool]
    assert "go build" not in (tmp_path / "calls").read_text()


def test_another_pin_means_another_build(tool, module):
    carry_out(tool)
    (module / "go.sum").write_text("other")
    assert find_missing([tool]) == [tool]


def test_every_module_is_pinned():
    modules = [tool for tool in all_tools() if tool.go]
    assert modules
    for tool in modules:
        folder = Path(tool.go)
        assert "h1:" in (folder / "go.sum").read_text()
        assert "--hash=sha256:" in (folder / "requirements.txt").read_text()
        assert "\ntool " in (folder / "go.mod").read_text()
