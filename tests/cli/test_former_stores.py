"""Runs that earlier versions made are shown, compared, exported and reported, with the figures they had then.

Each folder of `tests/data/stores` holds a store, made with stand-in hosts, and what the version of its time
printed of it. Sentences may be reworded, keys may be added; no figure may change.
"""

from __future__ import annotations

import csv
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

STORES = sorted((Path(__file__).parents[1] / "data" / "stores").iterdir())


@pytest.fixture(params=STORES, ids=lambda folder: folder.name)
def former(request, steelyard, tmp_path):
    """A folder of recorded answers; its store is where `steelyard` looks."""
    with tarfile.open(request.param / "store.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "steelyard-runs").rename(tmp_path / "store")
    return request.param


def figures(document: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every number, truth value and null of a document, by its path."""
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from figures(value, f"{path}/{key}")
    elif not isinstance(document, str):
        yield path, document


def check(answer: object, recorded: Path) -> None:
    now = dict(figures(answer))
    for path, value in figures(json.loads(recorded.read_text())):
        assert now[path] == (value if isinstance(value, bool | None) else pytest.approx(value)), path


def runs(former: Path) -> list[str]:
    return [run["run"] for run in json.loads((former / "list.json").read_text())]


def test_its_runs_are_listed_and_shown(former, steelyard):
    oldest, newest = runs(former)
    check(steelyard("list", "--json").document, former / "list.json")
    check(steelyard("show", oldest, "--json").document, former / "show.json")
    assert "buffer=64" in steelyard("show", newest).out


def test_its_runs_are_compared(former, steelyard):
    oldest, newest = runs(former)
    check(steelyard("compare", oldest, newest, "--json").document, former / "compare.json")


def test_its_rows_are_exported(former, steelyard, tmp_path):
    oldest, _ = runs(former)
    assert steelyard("export", oldest, "--as", "csv", "-o", "rows.csv").code == 0
    recorded = list(csv.reader((former / "export.csv").read_text().splitlines()))
    assert list(csv.reader((tmp_path / "rows.csv").read_text().splitlines())) == recorded


def test_its_report_has_the_figures_and_the_telemetry(former, steelyard):
    oldest, _ = runs(former)
    report = Path(steelyard("report", oldest).out.splitlines()[-1]).read_text()
    titles = set(re.findall(r'"title":\{"text":"([^"]+)"', report))
    assert {"rate", "per_cpu", "CPU", "Disks", "Memory", "Network"} <= titles
