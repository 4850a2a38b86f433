"""How long a run of 1,000 trials takes to read, to summarise and to report.

The floor is parsing all JSON of its record, in a fresh process as well.
"""

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

MOST_SUMMARY, MOST_REPORT = 3.0, 50.0  # times as long as parsing the JSON of the record
REPORT_BYTES = 5_000_000
WHAT = "of 100 cells x 10 trials x 8 metrics"


def rows(setting: Setting) -> Iterator[Row]:
    """Each in a fresh process, and with it the libraries that are loaded on use."""
    root = setting.folder("reading")
    folder = records.big_run(Store(root)).path
    turns = [{name: _in_fresh_process(name, folder, setting) for name in SIDES} for _ in range(setting.turns)]
    sides = {name: [turn[name] for turn in turns] for name in SIDES}
    floor, beside = _column(sides["parsing"], "seconds"), "parsing the JSON of its record"
    summaries, reports = _column(sides["summary"], "seconds"), sides["report"]
    yield Row("reading", f"summary {WHAT}", "s", summaries, beside, floor, most=MOST_SUMMARY)
    seconds = _column(reports, "seconds")
    yield Row("reading", f"HTML report {WHAT}", "s", seconds, beside, floor, most=MOST_REPORT)
    sizes = _column(reports, "bytes")
    yield Row("reading", "HTML report: size of the file", "B", sizes, limit=REPORT_BYTES)


def _column(found: list[dict[str, float]], name: str) -> tuple[float, ...]:
    return tuple(each[name] for each in found)


def _in_fresh_process(what: str, folder: Path, setting: Setting) -> dict[str, float]:
    argv = (sys.executable, "-m", "bench.reading", what, str(folder))
    done = run(argv, cwd=Path(__file__).parent.parent, env=setting.environment)
    found: dict[str, float] = json.loads(done.output)
    return found


def parsing(folder: Path) -> dict[str, float]:
    """Parse every JSON document of a run's record; seconds."""
    began = time.perf_counter()
    lines = (folder / "journal.ndjson").read_bytes().splitlines()
    texts = [*lines, *(path.read_bytes() for path in folder.glob("trials/*/*.json"))]
    for text in texts:
        json.loads(text)
    return {"seconds": time.perf_counter() - began, "documents": len(texts)}


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


SIDES = {"parsing": parsing, "summary": summary, "report": report}

if __name__ == "__main__":
    print(json.dumps(SIDES[sys.argv[1]](Path(sys.argv[2]))))
