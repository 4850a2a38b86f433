"""IOTune: what is refused, the commands, and whole searches on a made-up disk, whose knees are known."""

from __future__ import annotations

import json
import random
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

import steelyard
from steelyard.errors import UsageError
from steelyard.model.command import Command, Place
from steelyard.report import html
from steelyard.report.io_properties import has_disk_figures, write_io_properties
from steelyard.spec.yaml.source import read
from steelyard.testing import FakeSite, Said
from steelyard.workloads.iotune import Iotune, IotuneOptions

RECORDED = Path(__file__).parents[1] / "data/contract/iotune/0/run/raw/fio-run.json"
PLACE = Place(PurePosixPath("/scratch"), PurePosixPath("/raw"), cores=2, memory=2**30, seed=7)
KNEES = {"randread": 11, "read": 2, "randwrite": 6, "write": 1}
EACH = {"randread": 1000, "read": 400, "randwrite": 500, "write": 300}
"""I/Os per second that the disk gives to each request that it serves at once."""
MOUNTS = "23 1 254:0 / / rw - ext4 /dev/vda rw\n24 23 254:16 / /data rw - xfs /dev/vdb rw\n"


def made(**options: Any) -> Iotune:
    return Iotune(IotuneOptions.model_validate(options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": "1000B"}, "block: 1000B is not a multiple of 512 bytes, as direct I/O needs"),
        ({"block": "0B"}, "block: 0B is not a multiple of 512 bytes"),
        (
            {"size": "1MiB", "pattern": "sequential", "requests": 16},
            "size: 1MiB holds 8 blocks of 128KiB, fewer than the 16 requests; raise size to 2MiB, or lower",
        ),
        ({"duration": "1ms"}, "is not between 10ms and 1d"),
        ({"requests": 0}, "greater than or equal to 1"),
        ({"pattern": "strided"}, "'sequential' or 'random'"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        made(**options)
    (entry,) = caught.value.errors()
    assert message in entry["msg"]


def test_the_file_is_written_and_then_measured_past_the_cache() -> None:
    prepare, run = made(direction="write", requests=8, size="8MiB").phases(PLACE)
    assert not prepare.measured
    assert "--filesize=8388608" in prepare.command.argv
    asked = {"--rw=randwrite", "--bs=4096", "--direct=1", "--iodepth=8", "--runtime=500ms"}
    assert asked <= set(run.command.argv)
    assert "--rw=read" in made(pattern="sequential").phases(PLACE)[1].command.argv


class FakeDisk:
    """A disk that serves so many requests at once, and no more; fio's report of it, with a little noise."""

    def __init__(self, knees: dict[str, int]) -> None:
        self.knees, self.dice = knees, random.Random(1)

    def __call__(self, command: Command) -> Said:
        options = dict(word[2:].partition("=")[::2] for word in command.argv[1:])
        if options["name"] == "prepare":
            return Said()
        return Said(files={"fio-run.json": json.dumps(self.report(options))})

    def report(self, options: dict[str, str]) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(RECORDED.read_text())
        (job,) = told["jobs"]
        way, depth = options["rw"], int(options["iodepth"])
        ios = round(EACH[way] * min(depth, self.knees[way]) * self.dice.lognormvariate(0, 0.002))
        flow = job["read"]
        flow |= {"runtime": 1000, "total_ios": ios, "io_bytes": ios * int(options["bs"])}
        flow["lat_ns"] |= {"mean": depth / ios * 1e9, "N": ios}
        flow["clat_ns"]["bins"] = {str(round(depth / ios * 1e9)): ios}
        direction = way.removeprefix("rand")
        other = {**flow, "total_ios": 0} if direction == "write" else job["write"]
        job |= {"job_runtime": 1000, direction: flow, {"read": "write", "write": "read"}[direction]: other}
        job["job options"] |= {"rw": way, "iodepth": str(depth)}
        return told


def tuned(tmp_path: Path, *, site: Any = None, **more: Any) -> steelyard.Run:
    text = (Path(__file__).parents[2] / "examples/iotune.yaml").read_text()
    tree = {**read(text, "iotune.yaml").value, "repeat": 6, "disturbed": "include", **more}
    disk = site or FakeSite(FakeDisk(KNEES), {"/proc/self/mountinfo": MOUNTS})
    return steelyard.run(steelyard.Experiment.model_validate(tree), site=disk, store=tmp_path / "store")


def test_the_example_names_the_knees_and_writes_what_seastar_reads(tmp_path: Path) -> None:
    run = tuned(tmp_path)
    study, power = run.findings.derived.results
    sentences = [study.sentence(curve) for curve in study.curves]
    assert [sentence.partition("; ")[0] for sentence in sentences] == [
        "iops (direction=read pattern=random): no gain beyond requests=11",
        "iops (direction=read pattern=sequential): no gain beyond requests=2",
        "iops (direction=write pattern=random): no gain beyond requests=6",
        "iops (direction=write pattern=sequential): no gain beyond requests=1",
    ]
    assert power.metric.name == "power"
    path = write_io_properties(run.findings, tmp_path / "io_properties.yaml")
    (disk,) = read(path.read_text(), "io_properties.yaml").value["disks"]
    assert list(disk) == ["mountpoint", "read_iops", "read_bandwidth", "write_iops", "write_bandwidth"]
    assert disk["mountpoint"] == "/"
    figures = [disk["read_iops"], disk["read_bandwidth"], disk["write_iops"], disk["write_bandwidth"]]
    assert figures == pytest.approx([11000, 800 * 2**17, 3000, 300 * 2**17], rel=0.02)
    assert "# iops (direction=read pattern=random): no gain beyond requests=11; " in path.read_text()
    assert "no gain beyond requests=11" in html.write(run.findings, tmp_path / "report.html").read_text()


def test_without_a_search_the_best_level_counts(tmp_path: Path) -> None:
    levels = {"direction": ["read", "write"], "pattern": ["random", "sequential"], "requests": [1, 4]}
    run = tuned(tmp_path, find=None, parameters=levels, repeat=1, derive=[])
    path = write_io_properties(run.findings, tmp_path / "io_properties.yaml")
    assert read(path.read_text(), "x").value["disks"][0]["read_iops"] == pytest.approx(4000, rel=0.02)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"parameters": {"direction": ["read"], "pattern": ["random"], "requests": [1]}}, "no figures of"),
        ({"workload": {"use": "command", "run": ["fio", "--name=prepare"]}}, "did not measure with iotune"),
    ],
)
def test_a_run_that_lacks_something_has_no_file(tmp_path: Path, more: Any, message: str) -> None:
    run = tuned(
        tmp_path, **{"find": None, "derive": [], "metrics": {}, "repeat": 1, "parameters": {}, **more}
    )
    assert has_disk_figures(run.record) == ("parameters" in more)
    with pytest.raises(UsageError, match=message):
        write_io_properties(run.findings, tmp_path / "io_properties.yaml")
    assert not (tmp_path / "io_properties.yaml").exists()


def test_several_hosts_have_no_common_file(tmp_path: Path) -> None:
    site = FakeSite(FakeDisk(KNEES), {"/proc/self/mountinfo": MOUNTS}, hosts=2)
    levels = {"direction": ["read", "write"], "pattern": ["random", "sequential"], "requests": [1]}
    run = tuned(tmp_path, site=site, find=None, parameters=levels, repeat=1, derive=[])
    with pytest.raises(UsageError, match="measured on 2 hosts"):
        write_io_properties(run.findings, tmp_path / "io_properties.yaml")
