"""`use: sockperf`: the fold of its log into a histogram, and damage to it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.workloads import sockperf
from steelyard.workloads.sockperf import Sockperf, SockperfOptions

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
RECORDED = Path(__file__).parents[1] / "data" / "contract" / "sockperf" / "0" / "run" / "raw"


def made(**options) -> Sockperf:
    return Sockperf(SockperfOptions.model_validate(options))


def folded(seconds: list[float], folder: Path) -> dict[float, int]:
    """What the fold makes of a log with these round trips."""
    rows = [f"{n}, 1.000000000, {1 + rtt:.9f}, {rtt / 2e-6:.3f}" for n, rtt in enumerate(seconds)]
    head = ["sockperf: Summary", "------", "packet, txTime(sec), rxTime(sec), latency(usec)"]
    (folder / "messages.csv").write_text("\n".join([*head, *rows, "------"]) + "\n")
    subprocess.run(
        ["sh", "-eu", "-c", sockperf._FOLD],
        cwd=folder,
        env={"OUT": str(folder), "PATH": "/usr/bin:/bin"},
        check=True,
    )
    assert not (folder / "messages.csv").exists()
    lines = (folder / "round-trips.txt").read_text().splitlines()
    assert lines[-1] == f"all {len(seconds)}"
    return {float(line.split()[0]) / 1e9: int(line.split()[1]) for line in lines[:-1]}


def test_no_message_is_lost_in_the_fold_and_none_moves_by_more_than_a_bin(tmp_path):
    drawn = random.Random(1)
    seconds = [drawn.lognormvariate(-10, 2) for _ in range(2000)]
    bins = folded(seconds, tmp_path)
    assert sum(bins.values()) == 2000
    spread = sorted(value for value, count in bins.items() for _ in range(count))
    for true, found in zip(sorted(seconds), spread, strict=True):
        assert found == pytest.approx(true, rel=1 / 64, abs=2e-9)


def test_powers_of_two_lie_in_the_bin_they_begin(tmp_path):
    bins = folded([2**10 / 1e9, (2**10 - 1) / 1e9, 0.0], tmp_path)
    assert all(count == 1 for count in bins.values())
    assert sorted(bins)[-1] == pytest.approx(2**10 * (1 + 0.5 / 64) / 1e9)


def output(tmp_path: Path, **changed: str) -> Output:
    raw = {}
    for path in RECORDED.iterdir():
        raw[path.name] = tmp_path / path.name
        raw[path.name].write_text(changed.get(path.stem.replace("-", "_"), path.read_text()))
    return Output(EXIT, "", "", raw)


def test_percentiles_come_from_the_log_and_are_whole_round_trips(tmp_path):
    reading = made().parse("run", output(tmp_path))
    said = (RECORDED / "sockperf.txt").read_text()
    half = float(said.partition("percentile 50.000 =")[2].split()[0]) / 1e6
    assert reading.values["round_trip_p50"] == pytest.approx(2 * half, rel=0.02)
    assert reading.values["answers"] > 100


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("round_trips", "1000 5\n"),
        ("round_trips", "1000 5\nall 6\n"),
        ("round_trips", "1000 x\nall 6\n"),
        ("round_trips", "1000 5\nall 5\n"),
        ("round_trips", ""),
        ("sockperf", "Summary: \n"),
    ],
)
def test_damage_is_no_reading(name, content, tmp_path):
    with pytest.raises(ParseFailure):
        made().parse("run", output(tmp_path, **{name: content}))


SILENT = "sockperf: Test ended\nsockperf: No messages were received from the server. Is the server down?"


def test_a_server_that_does_not_answer_is_not_measured(tmp_path):
    (tmp_path / "sockperf").write_text(f"#!/bin/sh\ntouch messages.csv\necho '{SILENT}'\n")
    (tmp_path / "sockperf").chmod(0o755)
    place = Place(PurePosixPath(tmp_path), PurePosixPath(tmp_path), 2, 2**30, 1, to=Endpoint("127.0.0.1", 9))
    command = made().command(place)
    env = {**command.env, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(command.argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    with pytest.raises(NothingMeasured, match="answered no message"):
        made().parse("run", Output(EXIT, "", "", {path.name: path for path in tmp_path.glob("*.txt")}))


def test_a_server_that_refuses_is_a_failure_with_what_sockperf_said(tmp_path):
    (tmp_path / "sockperf").write_text("#!/bin/sh\necho 'ERROR: Can`t connect socket (errno=111)'\nexit 0\n")
    (tmp_path / "sockperf").chmod(0o755)
    place = Place(PurePosixPath(tmp_path), PurePosixPath(tmp_path), 2, 2**30, 1, to=Endpoint("127.0.0.1", 9))
    command = made().command(place)
    env = {**command.env, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(command.argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "errno=111" in done.stderr


@pytest.mark.parametrize("options", [{"message": "13B"}, {"message": "64KiB"}, {"duration": "1500ms"}])
def test_what_sockperf_cannot_do_is_refused(options):
    with pytest.raises(ValidationError):
        made(**options)
