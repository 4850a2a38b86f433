"""Tools that Maven builds: what is run, and when they are to be built again."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from steelyard.spec.bind import workload_class
from steelyard.spec.tool_needs import all_tools
from steelyard.tools import maven
from steelyard.tools.bindings import list_folders
from steelyard.tools.find import find_missing, install_directory, local_commands

YCSB = replace(workload_class("ycsb").needs[0], program="no-such-program")
PROJECTS = [tool for tool in all_tools() if tool.maven]
BINDINGS = [pytest.param(folder, id=str(folder.parent.name)) for folder in list_folders("ycsb")]


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


@pytest.mark.parametrize("folder", [maven.project(YCSB), *BINDINGS])
def test_any_change_of_the_sources_changes_the_digest(folder, tmp_path, monkeypatch):
    before = maven.digest(YCSB)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    others = tuple(copy if each == folder else each for each in maven.sources(YCSB))
    monkeypatch.setattr(maven, "sources", lambda tool: others)
    assert maven.digest(YCSB) == before
    path = next(path for path in copy.rglob("*") if path.is_file())
    path.write_text(path.read_text() + "\n")
    changed = maven.digest(YCSB)
    assert changed != before
    path.rename(path.with_name("other"))
    assert maven.digest(YCSB) not in (before, changed)


def test_it_is_fetched_with_checksums_and_marked_last():
    place = install_directory(YCSB)
    clean, gather, build, compare, install, mark = local_commands(YCSB)
    assert clean == ("rm", "-rf", str(place))
    assert gather[4:] == tuple(map(str, maven.sources(YCSB)))
    assert {"mvn", "--strict-checksums", f"-Dout={place}", "package"} <= set(build)
    assert compare[-2].endswith("/jars.sha256")
    assert install[-1].endswith("/steelyard-ycsb")
    assert str(place / "complete") in mark
    assert maven.digest(YCSB) in mark


def check_sums(path: Path) -> None:
    lines = path.read_text().splitlines()
    jars = [line.partition("  ")[2] for line in lines]
    assert all(len(line.partition("  ")[0]) == 64 for line in lines)
    assert jars == sorted(jars)
    assert not any(jar.startswith("steelyard-") for jar in jars)


@pytest.mark.parametrize("tool", PROJECTS, ids=lambda tool: tool.name)
def test_a_project_has_what_it_needs(tool):
    folder = maven.project(tool)
    check_sums(folder / "jars.sha256")
    assert list((folder / "bin").glob("*"))
    assert "<url>" not in (folder / "pom.xml").read_text(), "where to fetch from is the user's affair"


@pytest.mark.parametrize("folder", BINDINGS)
def test_a_binding_lies_with_its_service_and_has_what_it_needs(folder):
    assert list(folder.glob("*.java"))
    coordinates = folder / "dependencies.txt"
    assert coordinates.exists() == (folder / "jars.sha256").exists(), "what is fetched is pinned"
    if coordinates.exists():
        check_sums(folder / "jars.sha256")
        assert all(line.count(":") == 2 for line in coordinates.read_text().splitlines())


def test_bindings_are_gathered_into_the_project(tmp_path):
    """One of ours, and one of a stranger, who lists a jar that we have, too."""
    theirs, place = tmp_path / "theirs", tmp_path / "place"
    theirs.mkdir()
    (theirs / "Redis.java").write_text("package steelyard.ycsb;")
    (theirs / "dependencies.txt").write_text("org.example:kv:1.0\n")
    common = (maven.project(YCSB) / "jars.sha256").read_text().splitlines()[0]
    (theirs / "jars.sha256").write_text(f"{common}\n{'0' * 64}  kv-1.0.jar\n")
    sources = (maven.project(YCSB), list_folders("ycsb")[-1], theirs)
    gather = maven.build_commands(YCSB, place, sources)[0]
    assert subprocess.run(gather, capture_output=True, text=True, check=True).stderr == ""
    check_sums(place / "sources" / "jars.sha256")
    assert (place / "sources" / "jars.sha256").read_text().count(common) == 1
    pom = (place / "sources" / "pom.xml").read_text()
    names = {node.text for node in ElementTree.fromstring(pom).iter() if node.tag.endswith("artifactId")}
    assert {"kv", "jedis", "core", "maven-jar-plugin"} <= names
    assert len(list((place / "sources").rglob("Redis.java"))) == 2


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
    compare = [*local_commands(YCSB)[3][:-2], str(listed), str(place)]
    assert subprocess.run(compare, capture_output=True, check=False).returncode == 0
    if harm == "missing":
        (place / "lib" / "b.jar").unlink()
    else:
        (place / "lib" / ("b.jar" if harm == "changed" else "c.jar")).write_text("harm")
    refused = subprocess.run(compare, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert ("c.jar" if harm == "further" else "b.jar") in refused.stderr


def test_the_launcher_says_what_it_wants():
    program = maven.project(YCSB) / "bin" / "steelyard-ycsb"
    done = subprocess.run(("sh", program, "fly"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "create|load|run" in done.stderr
