"""The command as a process of its own, from its start to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_a_run_with_tables_of_telemetry_ends_without_a_word_of_its_libraries(tmp_path: Path) -> None:
    """Some libraries tell what they take for a leak when the interpreter ends."""
    words = ("run", "-q", "--repeat", "1", "--disturbed", "include", "--", "sleep", "1.2")
    argv = [sys.executable, "-m", "steelyard", *words]
    env = {**os.environ, "STEELYARD_STORE": str(tmp_path / "store")}
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert list((tmp_path / "store").glob("runs/*/trials/1/telemetry/*.parquet")), "a table was made"
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
