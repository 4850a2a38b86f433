"""Passwords of services during a whole run: in no argument of any program, and in no file of the record."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.password import derive_password
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.tools.find import find_missing

PASSWORD = "Qx7onlyQ-a-password-that-only-this-test-knows"
KNOWN = {PASSWORD, PASSWORD[:8], derive_password("sss", PASSWORD)}
MOVE = {"use": "transfer", "files": 2, "file_size": "1KiB"}
CASES = {
    "xrootd": MOVE,
    "gridftp": MOVE,
    "redis": {"use": "redis_benchmark", "requests": 100, "clients": 2},
    "postgresql": {"use": "pgbench", "duration": "5s", "mode": "select-only"},
}
MAIN = f"""
import secrets, sys
secrets.token_urlsafe = lambda *_: {PASSWORD!r}
from steelyard.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("name", CASES)
def test_no_program_is_told_a_password_in_its_words(name: str, tmp_path: Path, enterable: Path) -> None:
    for tool in find_missing(find("services", name, Service).needs):
        pytest.skip(f"{tool.name} is not installed")
    calls, file = tmp_path / "calls", tmp_path / "experiment.yaml"
    file.write_text(json.dumps(experiment(name)))
    trace = ("strace", "-f", "-qq", "-e", "trace=execve", "-s", "65536", "-o", str(calls))
    words = (
        "run",
        str(file),
        "--site",
        "local:2",
        "--store",
        str(tmp_path / "store"),
        "--scratch",
        str(enterable),
    )
    done = run_traced((*trace, sys.executable, "-c", MAIN, *words))
    assert done.returncode == 0, done.stdout + done.stderr
    said = calls.read_text(errors="replace")
    assert said.count("execve(") > 20
    told = [line for line in said.splitlines() if any(secret in argv(line) for secret in KNOWN)]
    assert told == []
    for path in (tmp_path / "store").rglob("*"):
        assert not path.is_file() or not any(secret.encode() in path.read_bytes() for secret in KNOWN), path


def run_traced(words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Again where strace itself gave up, as it does when a program goes on just as it stops: EIO."""
    for _ in range(5):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if "strace: ptrace(PTRACE_LISTEN" not in done.stderr:
            break
    return done


def argv(line: str) -> str:
    """The words of a program, without those of the test's own first one."""
    return "" if "secrets.token_urlsafe" in line else line


def experiment(name: str) -> dict[str, Any]:
    return {
        "experiment": "secret",
        "roles": {"server": 1, "client": 1},
        "services": {"store": {"use": name, "on": "server"}},
        "workload": {**CASES[name], "on": "client", "to": "store"},
        "telemetry": "off",
        "repeat": 1,
        "disturbed": "include",
    }
