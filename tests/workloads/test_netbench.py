"""`use: netbench`: what its client is told, the fold of its trace, and damage to it."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard import api
from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.command import Command, Endpoint, Exit, Output, Place
from steelyard.tools.find import find_missing
from steelyard.workloads.netbench import NETBENCH, Netbench, NetbenchOptions

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
RECORDED = Path(__file__).parents[1] / "data" / "contract" / "netbench" / "0" / "run" / "raw"
TRACE = Path(__file__).parents[1] / "data" / "netbench" / "trace.txt"


def made(**options: Any) -> Netbench:
    return Netbench(NetbenchOptions.model_validate(options))


def command(to: Endpoint | None, place: Path = Path("/scratch"), **options: Any) -> Command:
    folder = PurePosixPath(place)
    return made(**options).command(Place(folder, folder, 2, 2**30, 1, to=to))


def folded(trace: str, folder: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command with a client that has left this trace."""
    program = folder / "s2n-netbench-driver-client-tcp"
    (folder / "given.txt").write_text(trace)
    program.write_text(f"#!/bin/sh\ncat {folder}/given.txt\n")
    program.chmod(0o755)
    asked = command(Endpoint("127.0.0.1", 9), folder, **options)
    env = {"HOME": str(folder), **asked.env, "PATH": f"{folder}:/usr/bin:/bin"}
    return subprocess.run(asked.argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


def output(text: str, folder: Path) -> Output:
    (folder / "fold").write_text(text)
    return Output(EXIT, "", "", {"round-trips.txt": folder / "fold"})


def test_a_transaction_lasts_until_the_next_request(tmp_path: Path) -> None:
    assert folded(TRACE.read_text(), tmp_path, request="100B", response="200B").returncode == 0
    sent = [float(at) for at in re.findall(r"0:00:([\d.]+) \[0\] send", TRACE.read_text())]
    reading = made().parse("run", output((tmp_path / "round-trips.txt").read_text(), tmp_path))
    took = [after - before for before, after in pairwise(sent)]
    assert took.pop(0) > 0.1, "the first is the client's own"
    assert sum(reading.histograms["round_trip"].values()) == len(took) == 8
    assert reading.values["transactions"] == pytest.approx(8 / (0.176900 - sent[1])), "until the very end"
    assert reading.values["round_trip_min"] == pytest.approx(min(took))
    assert reading.values["round_trip_max"] == pytest.approx(max(took))
    assert reading.values["round_trip_mean"] == pytest.approx(sum(took) / len(took))
    assert not (tmp_path / "trace.txt").exists()


def test_a_client_that_was_answered_once_has_measured_nothing(tmp_path: Path) -> None:
    once = "".join(TRACE.read_text().splitlines(keepends=True)[:5]) + line("0:00:01.000000", "rfin[0]")
    assert folded(once, tmp_path, request="100B", response="200B").returncode == 0
    with pytest.raises(NothingMeasured, match="the server answered no request"):
        made().parse("run", output((tmp_path / "round-trips.txt").read_text(), tmp_path))


def line(seconds: str, what: str) -> str:
    return f"{seconds} [0] {what}\n"


def test_an_answer_in_parts_is_one_answer_also_over_the_minute(tmp_path: Path) -> None:
    trace = line("0:00:00.000000", "send[0]=100") + line("0:00:00.000001", "recv[0]=200")
    trace += line("0:00:59.999990", "send[0]=60") + line("0:00:59.999991", "send[0]=40")
    trace += line("0:01:00.000001", "recv[0]=150") + line("0:01:00.000004", "recv[0]=50")
    trace += line("0:01:00.000010", "send[0]=100") + line("0:01:00.000011", "rfin[0]")
    assert folded(trace, tmp_path, request="100B", response="200B").returncode == 0
    assert (tmp_path / "round-trips.txt").read_text() == "seconds 0.000021\n20 1\nall 1\n"


def test_a_trace_of_other_sizes_or_that_breaks_off_is_a_failure(tmp_path: Path) -> None:
    whole = TRACE.read_text()
    for trace, sizes in (
        (whole, ("100B", "100B")),
        (whole, ("200B", "200B")),
        (whole[: len(whole) // 2], ("100B", "200B")),
        (whole.replace("=200", "=0"), ("100B", "200B")),
        ("", ("100B", "200B")),
    ):
        done = folded(trace, tmp_path, request=sizes[0], response=sizes[1])
        assert done.returncode == 1
        assert "incomplete requests or answers" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seconds 1.000000\n",
        "seconds 0.000000\nall 0\n",
        "seconds 1.000000\n500000 2\nall 3\n",
        "seconds 0.900000\n500000 2\nall 2\n",
        "500000 2\nall 2\n",
        "seconds 1.000000\n500000 x\nall 2\n",
    ],
)
def test_damage_is_no_reading(text: str, tmp_path: Path) -> None:
    assert made().parse("run", output("seconds 1.000000\n500000 2\nall 2\n", tmp_path)).values
    with pytest.raises(ParseFailure):
        made().parse("run", output(text, tmp_path))


def test_sizes_that_the_service_was_not_told_are_refused_before_both_sides_wait(tmp_path: Path) -> None:
    told = Endpoint("127.0.0.1", 9, {"request": "1", "response": "64"})
    asked = command(told, tmp_path, response="200B")
    done = subprocess.run(asked.argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "netbench's response is 200 bytes, but its service has 64" in done.stderr


def test_the_client_is_told_what_to_do() -> None:
    asked = command(
        Endpoint("fe80::1", 9), request="100B", response="8KiB", duration="1500ms", no_delay=False
    )
    (client,) = json.loads(asked.env["SCENARIO"])["clients"]
    repeated = client["connections"][0]["ops"][3]
    assert repeated["iterate"]["value"] == {"time": {"amount_ms": 1500}}
    assert [step["bytes"] for each in repeated["iterate"]["operations"] for step in each.values()] == [
        100,
        8192,
    ]
    assert asked.env["SERVER_0"] == "[fe80::1]:9"
    assert "--nagle" in asked.argv
    assert "--nagle" not in command(Endpoint("127.0.0.1", 9)).argv


@pytest.mark.parametrize("options", [{"request": "0B"}, {"response": "32MiB"}, {"duration": "50ms"}])
def test_what_netbench_cannot_do_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        made(**options)


@pytest.mark.skipif(bool(find_missing([NETBENCH])), reason="s2n-netbench-driver-client-tcp is not installed")
def test_each_pair_of_sizes_has_its_own_servers_on_another_host(enterable_scratch: Path) -> None:
    sizes = {"request": "${request}B", "response": "${response}B"}
    tree = {
        "experiment": "transactions",
        "roles": {"server": 1, "client": 1},
        "parameters": {"request": [1, 128], "response": [1, 8192]},
        "zip": ["request", "response"],
        "services": {"net": {"use": "netbench", "on": "server", "open": True, "servers": 2, **sizes}},
        "workload": {
            "use": "netbench",
            "on": "client",
            "to": "net",
            "copies": 2,
            "duration": "300ms",
            **sizes,
        },
        "telemetry": "off",
        "repeat": 1,
        "disturbed": "exclude",
    }
    run = api.run(tree, site="local:2")
    assert [trial.result.status for trial in run.record.trials] == ["ok", "ok"], run.record.trials
    for trial in run.record.trials:
        assert trial.result.metrics["transactions"] > 20
        assert 0 < trial.result.metrics["round_trip_min"] <= trial.result.metrics["round_trip_p50"]
