"""A package of plug-ins that is somebody else's, in a fresh environment: installed, listed, tested, run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "plugin"
ENTRIES = ("kv_server", "kv_load", "stutter", "open_files", "rack")

pytestmark = pytest.mark.full


class Fresh:
    """An environment with Steelyard and the package; what they depend on is that of this one."""

    def __init__(self, place: Path) -> None:
        self.place = place
        made = subprocess.run(
            [sys.executable, "-m", "venv", place], capture_output=True, text=True, check=False
        )
        if made.returncode:
            pytest.skip(f"no environment can be made: {made.stderr.strip()[-80:]}")
        (library,) = place.glob("lib/python*/site-packages")
        (library / "parent.pth").write_text(sysconfig.get_path("purelib"))

    def run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        outside = ("PYTHONPATH", "PYTEST_ADDOPTS", "STEELYARD_TEST_SESSION")  # it has a session of its own
        env = {name: value for name, value in os.environ.items() if name not in outside}
        argv = [str(self.place / "bin" / "python"), "-m", *words]
        return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    environment = Fresh(tmp_path_factory.mktemp("fresh"))
    words = ("pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", str(ROOT), str(PACKAGE))
    done = environment.run(*words, cwd=ROOT)
    if "hatchling" in done.stderr and "No matching distribution" in done.stderr:
        pytest.skip("no package registry can be reached, which has hatchling")
    assert done.returncode == 0, done.stderr
    return environment


def test_the_catalogue_lists_its_plug_ins(fresh, tmp_path):
    for name in ENTRIES:
        done = fresh.run("steelyard", "catalog", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert name in done.stdout
    listed = fresh.run("steelyard", "catalog", cwd=tmp_path).stdout
    assert {name for name in ENTRIES if name in listed} == set(ENTRIES)


def test_its_own_tests_pass(fresh, tmp_path):
    shutil.copytree(PACKAGE / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    done = fresh.run("pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout, done.stdout[-3000:]
    assert " passed" in done.stdout


def test_its_own_tests_pass_where_it_lies(fresh):
    """Inside our checkout, whose settings for pytest are not its own."""
    done = fresh.run("pytest", "-q", "-p", "no:cacheprovider", "--collect-only", cwd=PACKAGE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " tests collected" in done.stdout


def test_its_experiment_runs(fresh, tmp_path):
    words = ("run", str(PACKAGE / "stutter.yaml"), "--site", "rack:alpha,beta", "--repeat", "1")
    done = fresh.run("steelyard", *words, "--disturbed", "include", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "site rack:alpha,beta: 2 hosts" in done.stdout
    assert "stutter_stopped_time" in done.stdout
