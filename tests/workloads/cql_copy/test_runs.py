"""Real copies into a ring of one node: every row is there once, and what is wrong with a file is told."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

import steelyard
from loading import loaded
from steelyard.errors import ParseFailure
from steelyard.model.command import Command, Endpoint, Exit, Output, Place
from steelyard.model.metric import Reading
from steelyard.services.cassandra import Cassandra
from steelyard.tools.find import find_missing
from steelyard.workloads.cql_copy import CqlCopy
from steelyard.workloads.kit.service_env import add_service_variables

ROOT = Path(__file__).parents[3]
CELLS = ROOT / "examples" / "hbp" / "cells.py"
rings = loaded(ROOT / "tests" / "contract" / "ring.py")


@pytest.fixture(scope="module")
def ring() -> Iterator[Endpoint]:
    installed(CqlCopy)
    with rings.ring(tls=True) as endpoint:
        yield endpoint


def installed(*kinds: type) -> None:
    for tool in find_missing(tool for kind in kinds for tool in kind.needs):
        pytest.skip(f"{tool.name} is not installed: steelyard install {tool.name}")


def made(**options) -> CqlCopy:
    return CqlCopy(CqlCopy.Options.model_validate(options))


class Client:
    """Runs the phases of all copies, one after the other."""

    def __init__(self, base: Path, to: Endpoint, seed: int = 1) -> None:
        self.base, self.to, self.seed = base, to, seed

    def run(self, workload: CqlCopy, copies: int = 1) -> list[Reading]:
        places = [self._place(copy, copies) for copy in range(copies)]
        for number in range(len(workload.phases(places[0]))):
            outputs = [self._output(workload.phases(place)[number].command, place) for place in places]
        return [workload.parse("copy", output) for output in outputs]

    def _place(self, copy: int, copies: int) -> Place:
        scratch, raw = self.base / f"scratch-{copy}", self.base / f"raw-{copy}"
        scratch.mkdir(parents=True, exist_ok=True)
        raw.mkdir(exist_ok=True)
        first = Place(PurePosixPath(scratch), PurePosixPath(raw), 2, 2**30, self.seed, to=self.to)
        return replace(first, copy=copy, copies=copies)

    def _output(self, command: Command, place: Place) -> Output:
        began = time.time()
        done = subprocess.run(
            command.argv,
            env={**os.environ, **command.variables},
            cwd=place.scratch,
            input=(command.stdin or "").encode(),
            capture_output=True,
            check=False,
        )
        said, complained = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == 0, complained
        raw = {path.name: path for path in Path(place.raw).iterdir()}
        return Output(Exit(0, None, time.time() - began, 0.0, 0.0, 0, began), said, complained, raw)


def cells(ring: Endpoint, place: Path, *words: str) -> str:
    """What examples/hbp/cells.py prints, pointed at the ring as Steelyard does it."""
    place.mkdir(exist_ok=True)
    where = Place(PurePosixPath(place), PurePosixPath(place), 2, 2**30, 1, to=ring)
    command = add_service_variables(Command((sys.executable, "-I", "-S", str(CELLS), *words)), where)
    done = subprocess.run(
        command.argv,
        env={**os.environ, **command.variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_copies_load_every_row_once_and_start_from_nothing_each_time(ring, tmp_path):
    for seed in (10**6, 2 * 10**6):  # far from the cells of the other test
        client = Client(tmp_path / str(seed), ring, seed)
        found = client.run(made(rows=3001, processes=1), copies=2)
        assert [reading.values["rows"] for reading in found] == [1500, 1501]
        assert all(reading.values["lost_rows"] == 0 for reading in found)
        assert all(reading.values["copy_time"] > 0.1 for reading in found)
    assert cells(ring, tmp_path / "cells", "count") == "3001\n"
    credentials = tmp_path / str(10**6) / "scratch-0" / "credentials"
    assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
    assert ring.password in credentials.read_text()
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name.startswith("raw")]
    assert kept
    assert not any(ring.password in path.read_text() for path in kept)


def test_cells_are_loaded_and_counted(ring, tmp_path):
    before = int(cells(ring, tmp_path, "load", "2000") and cells(ring, tmp_path, "count"))
    assert before >= 2000
    cells(ring, tmp_path, "load", "2500")
    assert int(cells(ring, tmp_path, "count")) == before + 500


def test_lines_that_are_no_rows_are_lost_rows(ring, tmp_path):
    file = tmp_path / "genes.csv"
    file.write_text("name,length\nHTT,170\nBRCA2,many\n'APP,290\nTTN,281,1\nCFTR,189\n")
    asked = {
        "file": str(file),
        "header": True,
        "table": "genes",
        "columns": {"name": "text", "length": "int"},
    }
    (found,) = Client(tmp_path / "lax", ring).run(made(**asked, may_fail=2))
    assert (found.values["rows"], found.values["lost_rows"]) == (3, 2)
    assert "BRCA2,many" in (tmp_path / "lax" / "raw-0" / "failed.csv").read_text()


def test_a_table_that_is_not_there_is_told(ring, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    workload = made(file=str(tmp_path / "a.csv"), table="nosuch", truncate=False)
    with pytest.raises(ParseFailure, match="nosuch"):
        Client(tmp_path / "run", ring).run(workload)


@pytest.mark.full
def test_the_example_meets_its_requirement(enterable_scratch):
    """Where nodes wait too long for the machine's disk, the trial says so; all others have every row."""
    installed(CqlCopy, Cassandra)
    run = steelyard.run(ROOT / "examples" / "hbp" / "copy.yaml")
    complaints = [trial.message for trial in run.record.trials if trial.message]
    assert not [text for text in complaints if "`write_request_timeout`" not in text]
    assert len(run.rows()) >= 12
    rows = [row for row in run.rows() if row["status"] == "ok"]
    if not rows:
        pytest.skip(f"no node could write in time on this machine: {complaints[0]}")
    assert {(row["rows"], row["lost_rows"]) for row in rows} == {(100_000, 0)}
    assert all(row["ingest_rate"] > 0 for row in rows)
