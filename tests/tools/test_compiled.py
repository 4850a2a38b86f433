"""Tools that the host's compiler builds: when they are built again, and what is said if one cannot be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.model.tool import Tool
from steelyard.spec.tool_needs import all_tools
from steelyard.tools import compiled
from steelyard.tools.find import find_missing, install_directory, local_commands, sources

NETCDF = next(tool for tool in all_tools() if tool.name == "steelyard-netcdf")
SAYS = """#!/bin/sh
case " $* " in
    *hdf5.h*|*-dumpmachine*) exit 1 ;;
esac
for word; do
    case $word in *.c) ! grep -q hdf5.h "$word" || { echo "fatal error: hdf5.h" >&2; exit 1; } ;; esac
done
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with what every host has, and nothing to compile with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "mktemp", "rm", "dirname", "sed", "tr", "grep", "cat", "mkdir"):
        (folder / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("MPICC", raising=False)
    return folder


def build(tool: Tool) -> subprocess.CompletedProcess[str]:
    return subprocess.run(local_commands(tool)[1], capture_output=True, text=True, check=False)


def test_it_is_built_from_its_folder_and_marked_last():
    clean, build, mark = local_commands(NETCDF)
    place = str(install_directory(NETCDF))
    assert clean == ("rm", "-rf", place)
    assert build == ("sh", str(sources(NETCDF)[0] / "build"), place, "steelyard-netcdf")
    assert mark[-1] == compiled.digest(NETCDF)


def test_it_is_there_only_when_it_was_built_from_these_sources(tmp_path):
    copy = tmp_path / "sources"
    shutil.copytree(NETCDF.compiled, copy)
    tool = Tool("no-such-program", compiled=str(copy))
    assert compiled.digest(tool) == compiled.digest(NETCDF)
    install_directory(tool).mkdir(parents=True)
    (install_directory(tool) / "complete").write_text(compiled.digest(tool))
    assert find_missing([tool]) == []
    (copy / "grid.c").write_text("int main;")
    assert find_missing([tool]) == [tool]


def test_a_missing_compiler_is_told_with_its_packages(programs):
    done = build(NETCDF)
    assert done.returncode == 1
    assert done.stderr.startswith("steelyard-netcdf: mpicc is not here: install it")
    assert {"libopenmpi-dev,", "openmpi-devel),"} <= set(done.stderr.split())


def test_a_missing_library_is_told_with_its_packages(programs):
    (programs / "mpicc").write_text(SAYS)
    (programs / "mpicc").chmod(0o755)
    done = build(NETCDF)
    assert done.returncode == 1
    assert "fatal error: hdf5.h" in done.stderr
    assert "apt-get install libhdf5-openmpi-dev, or dnf install hdf5-openmpi-devel" in done.stderr
    assert not install_directory(NETCDF).exists()


def test_every_folder_has_its_script():
    tools = [tool for tool in all_tools() if tool.compiled]
    assert len(tools) > 1
    for tool in tools:
        assert (Path(tool.compiled) / "build").is_file()
        assert tool.argv()[:1] == ("sh",)
