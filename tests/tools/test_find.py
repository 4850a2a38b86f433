"""Which tools are missing, and what would bring them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from steelyard.model.tool import Tool
from steelyard.tools.find import find_missing, install_command, install_directory, local_commands

PIP = Tool("no-such-program", pip="db12.lock")
CRATE = Tool("no-such-binary", cargo="no-such-crate@1.2.3", sha256="0" * 64)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def complete(tool: Tool, content: str) -> None:
    install_directory(tool).mkdir(parents=True, exist_ok=True)
    (install_directory(tool) / "complete").write_text(content)


def marked(tool: Tool) -> None:
    """Carry out the last step, which says what the tool was made from."""
    install_directory(tool).mkdir(parents=True, exist_ok=True)
    subprocess.run(local_commands(tool)[-1], check=True)


def test_each_missing_tool_is_named_once():
    gone = Tool("no-such-thing", apt="thing")
    assert find_missing([Tool("sh"), gone, gone]) == [gone]


@pytest.mark.parametrize("tool", [PIP, CRATE], ids=["pip", "cargo"])
def test_a_place_counts_only_when_it_was_made_from_what_is_pinned_now(tool):
    assert find_missing([tool]) == [tool]
    (install_directory(tool) / "bin").mkdir(parents=True)
    assert find_missing([tool]) == [tool]
    for other in ("", "1" * 64):
        complete(tool, other)
        assert find_missing([tool]) == [tool]
    marked(tool)
    assert find_missing([tool]) == []
    assert local_commands(tool)[0] == ("rm", "-rf", str(install_directory(tool)))


def test_an_environment_lies_in_the_users_cache(cache, monkeypatch):
    assert install_directory(PIP) == cache / "steelyard" / "tools" / "no-such-program"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert install_directory(PIP) == Path.home() / ".cache" / "steelyard" / "tools" / "no-such-program"


def test_a_package_manager_that_does_not_know_one_of_them_is_not_asked(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    assert install_command([Tool("b", apt="pb"), Tool("a", apt="pa")]) == (
        "apt-get",
        "install",
        "-y",
        "pa",
        "pb",
    )
    assert install_command([Tool("b", apt="pb"), Tool("a", dnf="pa")]) is None
    assert install_command([]) is None


def test_one_that_packages_hide_from_path_is_found(tmp_path):
    hidden = Tool("no-such-server", places=(f"{tmp_path}/lib/*/bin",))
    assert find_missing([hidden]) == [hidden]
    (tmp_path / "lib" / "15" / "bin").mkdir(parents=True)
    (tmp_path / "lib" / "15" / "bin" / "no-such-server").touch(0o755)
    assert find_missing([hidden]) == []
