"""Tools from crates.io: a stand-in for cargo tells what was fetched and what was built."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from steelyard.model.tool import Tool
from steelyard.spec.tool_needs import all_tools
from steelyard.tools.find import install_directory, local_commands

CARGO = r"""#!/bin/sh
echo "$*" >> "$CARGO_HOME/calls"
case $1 in
    fetch) grep -q '^measure = "=1.2.3"$' Cargo.toml || exit 1
        for registry in mirror other; do
            mkdir -p "$CARGO_HOME/registry/cache/$registry"
            cp "$CARGO_HOME/$registry" "$CARGO_HOME/registry/cache/$registry/measure-1.2.3.crate"
        done ;;
    install) for word; do last=$word; done
        cp "$last/src/main.rs" "$CARGO_HOME/built" ;;
esac
"""


def archive(path: Path, code: bytes) -> str:
    """Make a crate's archive; its SHA-256."""
    with tarfile.open(path, "w:gz") as made:
        entry = tarfile.TarInfo("measure-1.2.3/src/main.rs")
        entry.size = len(code)
        made.addfile(entry, io.BytesIO(code))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def cargo(tmp_path, monkeypatch):
    """Its home, in which two registries have archives of the same name: ours, and one that does harm."""
    home = tmp_path / "cargo home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "cargo").write_text(CARGO)
    (home / "bin" / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("CARGO_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return home


def build(sha256: str):
    tool = Tool("measure", cargo="measure@1.2.3", sha256=sha256)
    (install_directory(tool) / "old").mkdir(parents=True)
    clean, build, mark = local_commands(tool)
    subprocess.run(clean, check=True)
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert not (install_directory(tool) / "old").exists()
    assert mark[-1] == sha256
    return tool, done


@pytest.mark.parametrize("ours", ["mirror", "other"])
def test_what_was_compared_is_what_is_built(ours, cargo):
    archive(cargo / ("other" if ours == "mirror" else "mirror"), b"harm")
    tool, done = build(archive(cargo / ours, b"ours"))
    assert done.returncode == 0, done.stderr
    assert (cargo / "built").read_bytes() == b"ours"
    fetch, install = (cargo / "calls").read_text().splitlines()
    assert fetch.startswith("fetch")
    assert f"--locked --root {install_directory(tool)}" in install


@pytest.mark.parametrize("sha256", ["", "0" * 64], ids=["none", "another"])
def test_nothing_is_built_of_another_archive(sha256, cargo):
    for registry in ("mirror", "other"):
        archive(cargo / registry, b"harm")
    _, done = build(sha256)
    assert done.returncode == 1
    assert "nothing was built" in done.stderr
    assert not (cargo / "built").exists()
    assert "install" not in (cargo / "calls").read_text()


def test_without_cargo_it_is_told(cargo, monkeypatch):
    (cargo / "bin" / "cargo").unlink()
    for name in ("sh", "rm"):  # /usr/bin may have a cargo of the system's
        (cargo / "bin" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(cargo / "bin"))
    _, done = build("0" * 64)
    assert done.returncode == 1
    assert "cargo" in done.stderr


def test_every_crate_is_pinned():
    crates = [tool for tool in all_tools() if tool.cargo]
    assert crates
    for tool in crates:
        assert "@" in tool.cargo
        assert len(bytes.fromhex(tool.sha256)) == 32
