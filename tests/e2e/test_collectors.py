"""`steelyard run` with collectors: their columns reach the record, the report and the export."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.store.telemetry import read_parquet

FILE = r"""
experiment: watched
services:
  web:
    use: program
    script: |
      printf '# HELP heat_bytes Stored heat\n# TYPE heat_bytes gauge\nheat_bytes{room="a"} 41\n' > metrics
      echo 'asked_total 7' >> metrics
      exec python3 -m http.server --bind "${self.address}" "${self.port}"
    ready: {url: /metrics}
    authentication: only for tests
workload: {use: command, run: [sleep, "2"]}
repeat: 1
disturbed: include
collect:
  - telemetry
  - {use: pressure, every: 200ms}
  - {use: prometheus, from: web, every: 200ms, metrics: [heat_bytes, asked_total]}
"""

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


def steelyard(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "steelyard", *words]
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, input=stdin, env=dict(os.environ)
    )


def last_line(done: subprocess.CompletedProcess[str]) -> Path:
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


def test_collectors_flow_from_the_file_to_the_report(own_place: Path, enterable_scratch: Path) -> None:
    (own_place / "watched.yaml").write_text(FILE)
    report = last_line(steelyard("run", "watched.yaml", "--quiet"))
    record = RunRecord(RunFolder(report.parents[1]))
    assert list(record.telemetry(1)) == ["local"]
    tables = {table.collector: table for table in record.collector_tables(1)}
    assert set(tables) == {"pressure", "prometheus"} if Path("/proc/pressure").exists() else {"prometheus"}

    table = read_parquet(tables["prometheus"].path)
    assert set(table["heat_bytes:room=a"]) == {41.0}
    assert set(table["asked_total"]) == {0.0}
    meaning = tables["prometheus"].columns()
    assert (meaning["heat_bytes"].unit, meaning["heat_bytes"].about) == ("B", "Stored heat")
    assert (meaning["asked_total"].unit, meaning["asked_total"].kind) == ("1/s", "rate")

    page = report.read_text()
    assert 'id="collected"' in page
    assert "heat_bytes:room=a" in page
    exported = json.loads(last_line(steelyard("export", "last", "--as", "json")).read_text())["collected"]
    columns = next(one["columns"] for one in exported if one["collector"] == "prometheus")
    assert columns["heat_bytes:room=a"]["mean"] == 41.0
