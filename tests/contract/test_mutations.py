"""The contract suite itself is tested: a plug-in that is broken on purpose must make it fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.plugins import builtin_names

SUITE = Path(__file__).with_name("test_workloads.py")


def suite(name: str, mutation: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0", str(SUITE)]
    picked = ["-k", f"test_recorded_output_gives_what_it_gave and {name}"]
    env = {**os.environ, "STEELYARD_TEST_MUTATION": mutation, "PYTEST_ADDOPTS": ""}
    env.pop("STEELYARD_TEST_SESSION", None)  # it is a session of its own, and must leave ours alone
    return subprocess.run([*argv, *picked], env=env, capture_output=True, text=True, check=False)


@pytest.mark.full
@pytest.mark.parametrize("what", ["parse", "unit"])
@pytest.mark.parametrize("name", sorted(builtin_names("workloads")))
def test_a_broken_plug_in_is_noticed(name, what):
    done = suite(name, f"{name}:{what}")
    assert done.returncode == 1, done.stdout[-2000:]
    assert "1 failed" in done.stdout


@pytest.mark.full
def test_a_sound_plug_in_passes():
    done = suite("command", "")
    assert done.returncode == 0, done.stdout[-2000:]
