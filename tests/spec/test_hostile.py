"""Hostile files and expressions get one clear error within 200 MB each; how soon, the bench says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    script = Path(__file__).with_name("hostile_files.py")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
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


def test_each_takes_less_than_200_megabytes(results: dict[str, dict[str, Any]]) -> None:
    assert {name: result["megabytes"] for name, result in results.items() if result["megabytes"] > 200} == {}
