"""Real fio: every example of every workload that uses it, and what the docstrings claim of its behaviour."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from steelyard.model.command import Exit, Output, Phase, Place
from steelyard.model.metric import Reading
from steelyard.plugins import builtin_names, find
from steelyard.workloads.base import Workload

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
NAMES = sorted(name for name in builtin_names("workloads") if name == "fio" or name.startswith("ska"))
EXAMPLES = [
    pytest.param(name, example, id=f"{name}-{index}")
    for name in NAMES
    for index, example in enumerate(find("workloads", name, Workload).examples)
]
DONE = Exit(code=0, signal=None, wall=1.0, user=0.1, system=0.1, peak_memory=0, started=0.0)
KIB = 1024


class Runner:
    """Runs a workload's phases where the test may write, as the life cycle of a trial does."""

    def __init__(self, base: Path) -> None:
        self.scratch, self.raw = base / "scratch", base / "raw"
        self.scratch.mkdir()
        self.raw.mkdir()
        self.place = Place(PurePosixPath(self.scratch), PurePosixPath(self.raw), 2, 2**30, seed=4711)

    def workload(self, name: str, options: Any) -> Workload[Any]:
        kind = find("workloads", name, Workload)
        return kind(kind.Options.model_validate(options))

    def readings(self, workload: Workload[Any]) -> dict[str, Reading]:
        """Phase to reading, of the measured phases."""
        found = {}
        for phase in workload.phases(self.place):
            self.execute(phase)
            if phase.measured:
                raw = {path.name: path for path in self.raw.iterdir()}
                found[phase.name] = workload.parse(phase.name, Output(DONE, "", "", raw))
        return found

    def execute(self, phase: Phase, *more: str) -> subprocess.CompletedProcess[str]:
        argv = [phase.command.argv[0], *more, *phase.command.argv[1:]]
        done = subprocess.run(argv, cwd=phase.command.cwd, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done

    def files(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self.scratch.iterdir()}


@pytest.fixture
def runner(tmp_path):
    yield Runner(tmp_path)
    shutil.rmtree(tmp_path / "scratch")


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_example_runs_and_gives_its_metrics(runner, name, example):
    workload = runner.workload(name, example)
    readings = runner.readings(workload)
    given = {key for reading in readings.values() for key in (*reading.values, *reading.histograms)}
    assert given == {metric.name for metric in workload.metrics()}
    rates = [v for r in readings.values() for k, v in r.values.items() if k.endswith(("bandwidth", "iops"))]
    assert min(rates) > 0
    assert 0 < sum(runner.files().values()) <= workload.disk()


def test_data_that_is_read_was_really_written(runner):
    workload = runner.workload("ska2", {"access": "sequential", "outstanding": 1, "max_file_size": "4MiB"})
    runner.execute(workload.phases(runner.place)[0])
    (path,) = runner.scratch.iterdir()
    assert path.stat().st_blocks * 512 >= path.stat().st_size == 4 * KIB * KIB
    blocks = [path.read_bytes()[at : at + 4 * KIB] for at in range(0, 4 * KIB * KIB, 64 * KIB)]
    assert b"\0" * 4 * KIB not in blocks


def test_drawn_sizes_hold_whole_blocks_and_come_from_the_seed(tmp_path):
    options = {
        "files": 4,
        "max_file_size": "16MiB",
        "min_file_size": "2MiB",
        "block": "64KiB",
        "outstanding": 16,
    }
    drawn = []
    for seed in (1, 1, 2):
        base = tmp_path / str(len(drawn))
        base.mkdir()
        runner = Runner(base)
        runner.place = Place(runner.place.scratch, runner.place.raw, 2, 2**30, seed)
        runner.readings(runner.workload("ska1", options))
        drawn.append(runner.files())
        shutil.rmtree(base)
    assert drawn[0] == drawn[1] != drawn[2]
    sizes = [size for files in drawn for size in files.values()]
    assert all(2048 * KIB <= size <= 16384 * KIB and size % (64 * KIB) == 0 for size in sizes)


def test_ska5_reads_all_that_it_wrote_whatever_the_drawn_sizes(runner):
    options = {
        "files": 3,
        "max_file_size": "16MiB",
        "min_file_size": "8MiB",
        "block": "64KiB",
        "outstanding": 4,
    }
    readings = runner.readings(runner.workload("ska5", options))
    assert readings["write"].facts["bytes"] == readings["read"].facts["bytes"] == sum(runner.files().values())


def test_ska6_writes_every_checkpoint_into_one_file_of_two_regions(runner):
    example = {"outstanding": 4, "size": "8MiB", "block": "16KiB", "checkpoints": 3}
    reading = runner.readings(runner.workload("ska6", example))["run"]
    assert runner.files() == {"state": 16 * KIB * KIB}
    assert reading.facts["bytes"] == 24 * KIB * KIB


def test_ska8_reads_every_stride_and_its_helpers_share_the_same_blocks(runner):
    options = {"file_size": "1MiB", "stride": 4, "prefetch": "ahead", "helpers": 4}
    prepare, read = runner.workload("ska8", options).phases(runner.place)
    runner.execute(prepare)
    runner.execute(read, "--debug=io")
    said = (runner.raw / "fio-read.json").read_text()
    blocks = defaultdict(list)
    for thread, offset in re.findall(r"^io +(\d+) +queue: io_u .*?off=0x([0-9a-f]+),len=0x1000", said, re.M):
        blocks[thread].append(int(offset, 16) // (4 * KIB))
    wanted = list(range(0, 256, 4))
    (reader,) = [found for found in blocks.values() if len(found) == len(wanted)]
    helpers = [found for found in blocks.values() if found is not reader]
    assert reader == wanted
    assert sorted(helpers) == [wanted[first::4] for first in range(4)]


def test_a_synchronous_engine_with_a_depth_is_marked(runner):
    options = {"outstanding": 8, "max_file_size": "32MiB", "block": "64KiB", "engine": "psync"}
    (mark,) = runner.readings(runner.workload("ska1", options))["run"].marks
    assert mark.kind == "fallback"
    assert mark.reason == "engine psync keeps one I/O outstanding, not the 8 requested"


def test_ska9_gives_each_process_files_of_its_own(runner):
    options = {"processes": 3, "files": 2, "max_file_size": "8MiB", "block": "64KiB"}
    readings = runner.readings(runner.workload("ska9", options))
    assert set(runner.files()) == {f"data.{process}.{number}" for process in range(3) for number in range(2)}
    assert readings["read"].facts["jobs"] == 3
    assert readings["read"].facts["bytes"] == 6 * 8 * KIB * KIB
