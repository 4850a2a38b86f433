"""Tools that Maven builds: what is run, and when they are to be built again."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.model.tool import Tool
from steelyard.tools import maven
from steelyard.tools.find import find_missing, install_directory, local_commands

YCSB = Tool("ycsb", maven=True, program="no-such-program")
NAMES = sorted(path.name for path in (Path(maven.__file__).parent / "java").iterdir())


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def complete(content: str) -> None:
    install_directory(YCSB).mkdir(parents=True, exist_ok=True)
    (install_directory(YCSB) / "complete").write_text(content)


def test_a_tool_is_there_only_when_it_was_built_from_these_sources():
    assert find_missing([YCSB]) == [YCSB]
    complete("")
    assert find_missing([YCSB]) == [YCSB]
    complete(maven.digest(YCSB))
    assert find_missing([YCSB]) == []


def test_any_change_of_the_sources_changes_the_digest(tmp_path, monkeypatch):
    before = maven.digest(YCSB)
    copy = tmp_path / "copy"
    shutil.copytree(maven.project("ycsb"), copy)
    monkeypatch.setattr(maven, "project", lambda name: copy)
    assert maven.digest(YCSB) == before
    path = copy / "bin" / "steelyard-ycsb"
    path.write_text(path.read_text() + "\n")
    changed = maven.digest(YCSB)
    assert changed != before
    path.rename(path.with_name("other"))
    assert maven.digest(YCSB) not in (before, changed)


def test_it_is_fetched_with_checksums_and_marked_last():
    place = install_directory(YCSB)
    clean, build, compare, install, mark = local_commands(YCSB)
    assert clean == ("rm", "-rf", str(place))
    assert {"mvn", "--strict-checksums", f"-Dout={place}", "package"} <= set(build)
    assert compare[-2].endswith("/jars.sha256")
    assert install[-1].endswith("/steelyard-ycsb")
    assert str(place / "complete") in mark
    assert maven.digest(YCSB) in mark


@pytest.mark.parametrize("name", NAMES)
def test_a_project_has_what_it_needs(name):
    folder = maven.project(name)
    lines = (folder / "jars.sha256").read_text().splitlines()
    jars = [line.partition("  ")[2] for line in lines]
    assert all(len(line.partition("  ")[0]) == 64 for line in lines)
    assert jars == sorted(jars)
    assert not any(jar.startswith("steelyard-") for jar in jars)
    assert list((folder / "bin").glob("*"))
    assert "<url>" not in (folder / "pom.xml").read_text(), "where to fetch from is the user's affair"


@pytest.mark.parametrize("harm", ["changed", "missing", "further"])
def test_a_jar_that_is_not_as_listed_is_refused(harm, tmp_path):
    place, listed = tmp_path / "place", tmp_path / "jars.sha256"
    (place / "lib").mkdir(parents=True)
    for name in ("a.jar", "b.jar", "steelyard-ours.jar"):
        (place / "lib" / name).write_text(name)
    done = subprocess.run(
        ("sha256sum", "a.jar", "b.jar"), cwd=place / "lib", capture_output=True, text=True, check=True
    )
    listed.write_text(done.stdout)
    compare = [*local_commands(YCSB)[2][:-2], str(listed), str(place)]
    assert subprocess.run(compare, capture_output=True, check=False).returncode == 0
    if harm == "missing":
        (place / "lib" / "b.jar").unlink()
    else:
        (place / "lib" / ("b.jar" if harm == "changed" else "c.jar")).write_text("harm")
    refused = subprocess.run(compare, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert ("c.jar" if harm == "further" else "b.jar") in refused.stderr


def test_the_launcher_says_what_it_wants():
    program = maven.project("ycsb") / "bin" / "steelyard-ycsb"
    done = subprocess.run(("sh", program, "fly"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "create|load|run" in done.stderr
