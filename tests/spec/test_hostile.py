"""Hostile files and expressions get one clear error within about a second and 200 MB each."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    script = Path(__file__).with_name("hostile_files.py")
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=100, check=True
    )
    found: dict[str, dict[str, Any]] = json.loads(run.stdout)
    assert len(found) > 40
    return found


def test_each_gets_the_error_it_deserves(results: dict[str, dict[str, Any]]) -> None:
    wrong = {
        name: result["said"]
        for name, result in results.items()
        if result["status"] != 0
        or result["expected"] not in result["said"]
        or bool(result["expected"]) != bool(result["said"])
    }
    assert wrong == {}


def yardstick() -> float:
    """Seconds of processor time that a million additions take at best: machines differ, and their days."""
    return min(_additions() for _ in range(5))


def _additions() -> float:
    began = time.process_time()
    sum(number for number in range(1_000_000))
    return time.process_time() - began


def test_each_takes_little_processor_time(results: dict[str, dict[str, Any]]) -> None:
    """A second where a million additions take 30 ms; what grows with the square of a file takes minutes."""
    most = max(1.0, 33 * yardstick()) * 1.5
    assert {name: result["cpu"] for name, result in results.items() if result["cpu"] > most} == {}


def test_each_takes_less_than_200_megabytes(results: dict[str, dict[str, Any]]) -> None:
    assert {name: result["megabytes"] for name, result in results.items() if result["megabytes"] > 200} == {}
