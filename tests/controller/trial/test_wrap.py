"""Processes under conditions, and what the kernel says of them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from steelyard import api
from steelyard.cli.app import run as cli
from steelyard.errors import TrialFailure
from steelyard.hosts.wrapping import wrap_command
from steelyard.model.command import Command
from steelyard.model.keys.wrap import Conditions
from steelyard.spec.conditions import find_environments
from steelyard.testing import FakeHost, Said

CPU = min(os.sched_getaffinity(0))
SERVER = (
    "import socket, sys, time; s = socket.create_server((sys.argv[1], int(sys.argv[2]))); time.sleep(1000)"
)
# Starts what is asked for, and keeps a line of each start; so it says what a container would have been given.
PODMAN = """#!/usr/bin/env python3
import os, sys
if sys.argv[1] != "run": sys.exit("podman version 0")
words, env, at = sys.argv[2:], {}, "/"
with open(os.environ["FAKE_LOG"], "a") as log: print(*words, file=log)
while words[0].startswith("-"):
    word = words.pop(0)
    if word == "--env":
        name = words.pop(0)
        if name in os.environ: env[name] = os.environ[name]
    elif word == "--workdir": at = words.pop(0)
    elif word == "--volume": words.pop(0)
image, *argv = words
os.chdir(at)
os.execvpe(argv[0], argv, {**env, "PATH": os.environ["PATH"], "IMAGE": image})
"""


@pytest.fixture
def podman(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for podman; the file that has its starts."""
    folder = own_place / "bin"
    folder.mkdir()
    (folder / "podman").write_text(PODMAN)
    (folder / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_LOG", str(own_place / "podman.log"))
    return own_place / "podman.log"


def nicer_by(steps: int) -> str:
    """What nice(1) makes of our own niceness, which is not 0 where the tests themselves give way."""
    return str(min(os.nice(0) + steps, 19))


def said(run: api.Run) -> dict[Any, list[str]]:
    """The words that each trial printed, by the level of its only parameter."""
    return {
        next(iter(trial.result.trial.cell.parameters.values())): next(
            run.record.folder.trial(trial.number).rglob("stdout")
        )
        .read_text()
        .split()
        for trial in run.record.trials
    }


def under(run: api.Run, number: int = 1) -> dict[str, Any]:
    document = json.loads((run.record.folder.trial(number) / "trial.json").read_text())
    return document["phases"][0].get("wrap", {})


def test_each_condition_may_be_a_level(measure: Callable[..., api.Run]) -> None:
    run = measure(
        "grep Cpus_allowed_list /proc/$$/status; nice",
        options={"wrap": {"cpus": "${cpu}", "nice": "${3 if cpu == null else null}"}},
        parameters={"cpu": [str(CPU), None]},
        disturbed="include",
    )
    assert [trial.result.status for trial in run.record.trials] == ["ok"] * 2
    found = said(run)
    assert found[str(CPU)][1:] == [str(CPU), str(os.nice(0))]
    assert found[None][-1] == nicer_by(3)
    records = [under(run, trial.number) for trial in run.record.trials]
    assert {"cpus": {"asked": str(CPU), "got": str(CPU)}} in records


def test_what_it_did_not_get_marks_the_trial(measure: Callable[..., api.Run]) -> None:
    beyond = 40_000
    run = measure("true", options={"wrap": {"cpus": f"{CPU},{beyond}"}}, disturbed="include")
    (trial,) = run.record.trials
    if trial.result.status == "failed":
        assert "taskset" in trial.message
    else:
        (mark,) = (mark for mark in trial.result.marks if mark.kind == "fallback")  # busy machines add more
        assert mark.reason.endswith(f"cpus {CPU},{beyond} was requested, but the kernel reports {CPU}")


def test_a_service_is_put_under_conditions_too(told: Any) -> None:
    tree = {
        "experiment": "served",
        "parameters": {"nice": [4, None]},
        "services": {
            "web": {
                "use": "program",
                "on": "host",
                "open": True,
                "run": ["python3", "-c", SERVER, "${self.address}", "${port}"],
                "wrap": {"nice": "${nice}", "cpus": CPU},
            }
        },
        "workload": {"use": "command", "run": ["true"]},
        "repeat": 1,
        "disturbed": "include",
    }
    run = api.run(tree, observer=told)
    assert [trial.result.status for trial in run.record.trials] == ["ok"] * 2
    ready = [
        line["wrap"]["service web on local"] for line in run.record.journal if line["kind"] == "service-ready"
    ]
    cpus = {"cpus": {"asked": str(CPU), "got": str(CPU)}}
    assert len(ready) == 2, "it is deployed again for the other level"
    assert {**cpus, "nice": {"asked": "4", "got": nicer_by(4)}} in ready
    assert cpus in ready


def test_an_image_is_started_by_podman_where_it_is(measure: Callable[..., api.Run], podman: Path) -> None:
    run = measure(
        "echo $IMAGE; pwd; ls -a; echo 1 > $RAW/figure",
        options={
            "wrap": {"image": "${image}", "nice": 2},
            "metrics": {"figure": {"regex": r"(\d)", "from": "figure"}},
        },
        parameters={"image": ["alpine:3", "debian:12"]},
        disturbed="include",
    )
    assert [trial.result.status for trial in run.record.trials] == ["ok"] * 2
    assert {image: words[0] for image, words in said(run).items()} == {
        "alpine:3": "alpine:3",
        "debian:12": "debian:12",
    }
    assert under(run)["nice"] == {"asked": "2", "got": nicer_by(2)}
    first = next(line for line in podman.read_text().splitlines() if not line.endswith(" true"))
    assert "--network=host" in first
    assert "--env STEELYARD_TOKEN" in first
    scratch = first.partition("--workdir ")[2].split()[0]
    assert f"--volume {scratch}:{scratch}" in first


@pytest.mark.parametrize(
    ("asked", "lacks", "says"),
    [
        (
            {"memory_nodes": (0,)},
            "numactl",
            r"wrap: numactl is not installed on fake \(apt install numactl\)",
        ),
        (
            {"inside": "container", "image": "alpine"},
            "podman apptainer",
            "image alpine needs podman or apptainer, which fake does not",
        ),
        (
            {"inside": "container", "image": "a.sif"},
            "apptainer",
            "image a.sif needs apptainer, which fake does not have",
        ),
    ],
)
def test_a_host_that_lacks_what_it_takes_is_named(asked, lacks, says, monkeypatch):
    host = FakeHost(lambda _: Said())

    async def which(program: str) -> str | None:
        return None if program in lacks.split() else program

    monkeypatch.setattr(host, "which", which)
    conditions = Conditions(**asked)
    if conditions.inside:
        found = find_environments(conditions.inside, conditions.image)
        conditions = replace(conditions, environments=found)
    with pytest.raises(TrialFailure, match=says):
        asyncio.run(
            wrap_command(
                host,
                Command(("x",)),
                conditions,
                PurePosixPath("/scratch"),
                trace=PurePosixPath("/scratch/trace"),
            )
        )


def test_an_image_that_is_not_there_is_named_before_the_trial(measure: Callable[..., api.Run]) -> None:
    run = measure("true", options={"wrap": {"image": "/nowhere/at/all"}})
    (trial,) = run.record.trials
    assert trial.result.category == "tool-missing"
    assert trial.message.startswith("wrap: image /nowhere/at/all is not on ")


def test_the_plan_shows_them_and_what_the_machine_lacks(own_place: Path, capsys, monkeypatch) -> None:
    (own_place / "mine.yaml").write_text(
        "experiment: mine\nworkload: {use: command, run: [prog], wrap: {cpus: 0-1, image: x.sif}}\n"
    )
    monkeypatch.setenv("PATH", str(own_place))
    assert cli(("plan", "mine.yaml")) == 0
    out = capsys.readouterr().out
    assert "taskset -c 0-1 in container image=x.sif prog" in out
    assert "this machine lacks taskset" in out
    assert "this machine lacks apptainer, which no registry has" in out


def test_an_event_that_would_not_reach_a_container_is_refused(own_place: Path, capsys) -> None:
    (own_place / "mine.yaml").write_text(
        """experiment: mine
services:
  kv: {use: redis, on: host, wrap: {image: "redis:7", cpus: all}}
workload: {use: redis_benchmark, to: kv, wrap: {nice: 99, cpu: 1}}
timeline: {at: 1s, do: pause, service: kv, node: 0}
"""
    )
    assert cli(("plan", "mine.yaml")) == 2
    said = capsys.readouterr().err
    assert "cpus: 'all' is not a list of numbers" in said
    assert "'kv' runs in a container, where events cannot reach it" in said
    assert "unknown key 'cpu'; did you mean 'cpus'?" in said


def test_only_the_cells_in_a_container_refuse_it(own_place: Path, capsys) -> None:
    (own_place / "mine.yaml").write_text(
        """experiment: mine
parameters: {where: [host, bubblewrap]}
services: {kv: {use: redis, on: host, wrap: {in: "${where}", image: /image}}}
workload: {use: redis_benchmark, to: kv}
timeline: {at: 1s, do: pause, service: kv, node: 0}
"""
    )
    assert cli(("plan", "mine.yaml")) == 2
    assert "remove `in: bubblewrap` and `image`, or say `in: host`" in capsys.readouterr().err
    (own_place / "mine.yaml").write_text((own_place / "mine.yaml").read_text().replace(", bubblewrap", ""))
    assert cli(("plan", "mine.yaml")) == 0


ROLES = """experiment: mine
parameters: {on: [server]}
roles: {server: {hosts: 1, wrap: {nice: 5, cpus: "0"}}, client: {hosts: 1, shares: server}}
workload:
- {phase: a, use: command, on: server, run: [one]}
- {phase: b, use: command, on: "server[0]", run: [two], wrap: {nice: null, memory_node: 0}}
- {phase: c, use: command, on: client, run: [three]}
"""


def test_what_a_role_says_holds_for_all_that_runs_on_it(own_place: Path, capsys) -> None:
    (own_place / "mine.yaml").write_text(ROLES)
    assert cli(("plan", "mine.yaml")) == 0
    out = capsys.readouterr().out
    assert "nice -n 5 taskset -c 0 one" in out
    assert "taskset -c 0 numactl --membind=0 -- two" in out
    assert "nice -n 5 taskset -c 0 numactl" not in out
    assert "taskset -c 0 three" not in out


def test_a_role_that_is_a_level_cannot_have_conditions(own_place: Path, capsys) -> None:
    (own_place / "mine.yaml").write_text(ROLES.replace("on: client", 'on: "${on}"'))
    assert cli(("plan", "mine.yaml")) == 2
    said = capsys.readouterr().err
    assert "mine.yaml:7:" in said
    assert "on: name the role itself, since role 'server' has `wrap`" in said
