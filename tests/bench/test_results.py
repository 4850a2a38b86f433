"""The JSON holds every row with its figures."""

from __future__ import annotations

import json
from pathlib import Path

from bench.results import write
from bench.row import Row


def test_document(tmp_path: Path) -> None:
    rows = [
        Row("trial", "a", "1", (1.0, 3.0, 2.0), "peer", (4.0, 4.0, 4.0), limit=1.0, foreign=0.1),
        Row("trial", "b", "s", (), note="not there"),
    ]
    path = write(rows, tmp_path / "results", quick=True)
    document = json.loads(path.read_text())
    first, second = document["rows"]
    assert document["quick"] is True
    assert (first["ours"], first["ours_median"], first["theirs_median"]) == ([1.0, 3.0, 2.0], 2.0, 4.0)
    assert (first["ratio"], first["limit"], first["verdict"]) == (0.5, 1.0, "not within")
    assert (second["ours_median"], second["ratio"], second["verdict"]) == (None, None, "not measured")


def test_the_machine_is_described(tmp_path: Path) -> None:
    machine = json.loads(write([], tmp_path, quick=False).read_text())["machine"]
    assert machine["cores"] >= 1
    assert machine["versions"]["steelyard"]
