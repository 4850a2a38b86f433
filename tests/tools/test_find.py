"""Which tools are missing, and what would bring them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steelyard.model.tool import Tool
from steelyard.tools.find import environment, environment_commands, install_command, missing

PIP = Tool("no-such-program", pip="no-such-package")
CRATE = Tool("no-such-binary", cargo="no-such-crate@1.2.3")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_each_missing_tool_is_named_once():
    gone = Tool("no-such-thing", apt="thing")
    assert missing([Tool("sh"), gone, gone]) == [gone]


def test_an_environment_counts_only_when_it_is_complete():
    assert missing([PIP]) == [PIP]
    (environment(PIP) / "bin").mkdir(parents=True)
    assert missing([PIP]) == [PIP]
    (environment(PIP) / "complete").touch()
    assert missing([PIP]) == []


def test_an_environment_lies_in_the_users_cache(cache, monkeypatch):
    assert environment(PIP) == cache / "steelyard" / "tools" / "no-such-program"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert environment(PIP) == Path.home() / ".cache" / "steelyard" / "tools" / "no-such-program"


def test_only_wheels_are_installed_and_the_mark_comes_last():
    make, fetch, mark = environment_commands(PIP)
    place = str(environment(PIP))
    assert make == (sys.executable, "-m", "venv", place)
    assert fetch[-3:] == ("--only-binary", ":all:", "no-such-package")
    assert fetch[0] == f"{place}/bin/python"
    assert mark == ("touch", f"{place}/complete")


def test_a_crate_is_built_as_locked_into_a_place_of_its_own():
    build, mark = environment_commands(CRATE)
    place = str(environment(CRATE))
    assert build == ("cargo", "install", "--quiet", "--locked", "--root", place, "no-such-crate@1.2.3")
    assert mark == ("touch", f"{place}/complete")
    assert missing([CRATE]) == [CRATE]
    environment(CRATE).mkdir(parents=True)
    (environment(CRATE) / "complete").touch()
    assert missing([CRATE]) == []
    assert CRATE.argv("x")[-3:] == ("no-such-binary", "no-such-binary", "x")


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
    assert missing([hidden]) == [hidden]
    (tmp_path / "lib" / "15" / "bin").mkdir(parents=True)
    (tmp_path / "lib" / "15" / "bin" / "no-such-server").touch(0o755)
    assert missing([hidden]) == []
