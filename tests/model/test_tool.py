"""How a tool is started, wherever it was installed."""

from __future__ import annotations

import subprocess

import pytest

from steelyard.model.tool import Tool


def test_a_tool_on_path_is_started_plainly():
    assert Tool("fio", apt="fio").argv("--version") == ("fio", "--version")


@pytest.mark.parametrize(("program", "file"), [("", "measure"), ("other", "other")])
def test_a_tool_from_pypi_is_started_from_its_own_environment(program, file, tmp_path):
    place = tmp_path / "a cache" / "steelyard" / "tools" / "measure" / "bin"
    place.mkdir(parents=True)
    (place / file).write_text('#!/bin/sh\necho "mine: $1, $2"\n')
    (place / file).chmod(0o755)
    argv = Tool("measure", pip="measure", program=program).argv("a b", "$HOME")
    env = {"XDG_CACHE_HOME": str(tmp_path / "a cache"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "mine: a b, $HOME\n"


def test_without_an_environment_the_one_on_path_is_taken(tmp_path):
    argv = Tool("echo", pip="echo").argv("hello")
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "hello\n"


def test_one_that_packages_hide_from_path_is_started_in_its_newest_version(tmp_path):
    for version in ("13", "15"):
        place = tmp_path / "lib" / version / "bin"
        place.mkdir(parents=True)
        (place / "hidden").write_text(f'#!/bin/sh\necho "{version}: $1"\n')
        (place / "hidden").chmod(0o755)
    tool = Tool("hidden", places=(f"{tmp_path}/lib/*/bin", f"{tmp_path}/none/*/bin"))
    env = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(tool.argv("a b"), env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "15: a b\n"
    on_path = Tool("echo", places=tool.places).argv("plain")
    assert subprocess.run(on_path, env=env, capture_output=True, text=True, check=True).stdout == "plain\n"


def test_one_that_is_missing_says_how_to_get_it():
    ended = subprocess.run(
        Tool("no-such-tool", pip="no-such-tool").argv("x"), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 127
    assert ended.stderr == "no-such-tool is not on this host: run 'steelyard install no-such-tool'\n"
