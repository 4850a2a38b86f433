"""How long a run of 1,000 trials takes to read, to summarise and to report."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import records
from bench.process import run
from bench.row import Row
from bench.setting import Setting
from steelyard.analysis.findings import Findings
from steelyard.store.layout import Store

SUMMARY_SECONDS = 1.0
REPORT_SECONDS, REPORT_BYTES = 5.0, 5_000_000
WHAT = "of 100 cells x 10 trials x 8 metrics"


def rows(setting: Setting) -> Iterator[Row]:
    """Each in a fresh process, and with it the libraries that are loaded on use."""
    root = setting.folder("reading")
    folder = records.big_run(Store(root)).path
    summaries = [_in_fresh_process("summary", folder, setting) for _ in range(setting.turns)]
    yield Row("reading", f"summary {WHAT}", "s", _column(summaries, "seconds"), limit=SUMMARY_SECONDS)
    reports = [_in_fresh_process("report", folder, setting) for _ in range(min(3, setting.turns))]
    yield Row("reading", f"HTML report {WHAT}", "s", _column(reports, "seconds"), limit=REPORT_SECONDS)
    sizes = _column(reports, "bytes")
    yield Row("reading", "HTML report: size of the file", "B", sizes, limit=REPORT_BYTES)


def _column(found: list[dict[str, float]], name: str) -> tuple[float, ...]:
    return tuple(each[name] for each in found)


def _in_fresh_process(what: str, folder: Path, setting: Setting) -> dict[str, float]:
    argv = (sys.executable, "-m", "bench.reading", what, str(folder))
    done = run(argv, cwd=Path(__file__).parent.parent, env=setting.environment)
    found: dict[str, float] = json.loads(done.output)
    return found


def summary(folder: Path) -> dict[str, float]:
    """Summarise a run; seconds."""
    from steelyard.store.layout import RunFolder
    from steelyard.store.reader import RunRecord

    began = time.perf_counter()
    from steelyard.analysis.summary import summarise_run

    found = summarise_run(RunRecord(RunFolder(folder)))
    return {"seconds": time.perf_counter() - began, "cells": len(found.cells)}


def report(folder: Path) -> dict[str, float]:
    """Write a run's report; seconds, and the bytes of the file."""
    from steelyard.store.layout import RunFolder
    from steelyard.store.reader import RunRecord

    began = time.perf_counter()
    from steelyard.report import html

    path = html.write(Findings(RunRecord(RunFolder(folder))), folder / "report.html")
    return {"seconds": time.perf_counter() - began, "bytes": path.stat().st_size}


if __name__ == "__main__":
    print(json.dumps({"summary": summary, "report": report}[sys.argv[1]](Path(sys.argv[2]))))
