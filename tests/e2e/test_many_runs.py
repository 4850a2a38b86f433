"""Several runs on one machine and in one store, at once and over the years."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import ForkServer, Lab, Line

NAP = "experiment: nap\nworkload: {use: command, run: [sleep, '0.01']}\nrepeat: 4\ndisturbed: include\n"
GATED = """
experiment: gated
workload: {{use: command, script: "while test ! -e {gate}; do sleep 0.02; done"}}
repeat: 2
disturbed: exclude
"""
LOOKED_AT = """
experiment: looked-at
parameters: {{n: {{range: [1, 6]}}}}
order: as-written
workload: {{use: command, script: "until test -e {place}/look-$n; do sleep 0.02; done"}}
repeat: 1
disturbed: include
"""


@pytest.fixture
def first(lab: Lab, until: Callable[..., bool]) -> tuple[Path, Path]:
    """A run in the middle of its first trial, and the gate that lets it go on."""
    gate = lab.place / "gate"
    lab.start("run", lab.file(GATED.format(gate=gate)))
    assert until(lambda: lab.runs() and any(line["kind"] == "trial-started" for line in lab.journal()))
    return lab.runs()[0], gate


def over(lab: Lab, run: Path, until: Callable[..., bool]) -> bool:
    return until(lambda: lab.journal(run)[-1]["kind"] == "run-ended")


def at(journal: list[Line], kind: str) -> list[float]:
    return [line["mono"] for line in journal if line["kind"] == kind]


def marked(journal: list[Line]) -> list[bool]:
    """Of each trial, whether another run is said to have measured beside it."""
    ended = (line for line in journal if line["kind"] == "trial-ended")
    return [any("another run" in mark["reason"] for mark in line["marks"]) for line in ended]


def test_the_second_run_waits(lab: Lab, first: tuple[Path, Path], until: Callable[..., bool]) -> None:
    run, gate = first
    second = lab.start("run", "--repeat", "1", "--", "true")
    assert until(lambda: "waiting for it to end" in second.said())
    gate.touch()
    assert second.ended().code == 0, second.said()
    (other,) = (each for each in lab.runs() if each != run)
    assert at(lab.journal(other), "trial-started")[0] > at(lab.journal(run), "trial-ended")[-1]
    assert over(lab, run, until)
    assert not any(marked(lab.journal(run)) + marked(lab.journal(other)))


def test_a_waiting_run_can_be_interrupted(
    lab: Lab, first: tuple[Path, Path], until: Callable[..., bool]
) -> None:
    second = lab.start("run", "--repeat", "1", "--", "true")
    assert until(lambda: "waiting for it to end" in second.said())
    second.process.terminate()
    assert second.ended().code == 130, second.said()
    (other,) = (each for each in lab.runs() if each != first[0])
    assert lab.journal(other)[-1]["state"] == "interrupted"


def test_runs_beside_each_other_are_marked(
    lab: Lab, first: tuple[Path, Path], until: Callable[..., bool]
) -> None:
    run, gate = first
    asked = ("--repeat", "2", "--beside", "--disturbed", "exclude")
    second = lab.steelyard("run", *asked, "--", "sleep", "0.1")
    assert second.code == 3, second.said
    assert "marked as disturbed" in second.said
    assert "no trial counts" in second.said
    (other,) = (each for each in lab.runs() if each != run)
    assert marked(lab.journal(other)) == [True, True]
    gate.touch()
    assert over(lab, run, until)
    assert marked(lab.journal(run)) == [True, False], "in its second trial it was alone again"


def test_twenty_runs_at_once_into_one_store(lab: Lab) -> None:
    file = lab.file(NAP)
    started = [lab.start("run", "-q", "--beside", file) for _ in range(20)]
    ends = [each.ended() for each in started]
    assert not [end.said for end in ends if end.code != 0]
    assert len({run.name for run in lab.runs()}) == 20
    for run in lab.runs():
        journal = lab.journal(run)
        assert journal[-1]["state"] == "complete"
        assert {line["run"] for line in journal if line["kind"] == "run-started"} == {run.name}
        statuses = [line["status"] for line in journal if line["kind"] == "trial-ended"]
        assert statuses == ["ok"] * 4, [line.get("message") for line in journal]
        assert not lab.bearers(run.name)
    assert not any((lab.store / "scratch").glob("*"))


def test_the_newest_is_the_last_even_within_a_second(lab: Lab, fork_server: ForkServer) -> None:
    names = [f"{letter}-{number}" for number in range(3) for letter in "zyx"]
    for name in names:
        text = f"experiment: {name}\nworkload: {{use: command, run: ['true']}}\nrepeat: 1\n"
        assert fork_server.run(lab, "run", "--disturbed", "include", lab.file(text)).code == 0
        resumed = fork_server.run(lab, "resume", "last")
        assert f"-{name}-" in resumed.said.splitlines()[0]
    listed = json.loads(fork_server.run(lab, "list", "--json").said)
    assert [entry["title"] for entry in listed] == names


def test_reading_while_a_run_writes(lab: Lab, fork_server: ForkServer, until: Callable[..., bool]) -> None:
    """Whenever one looks, what has finished can be seen; each trial waits until one has looked."""
    started = lab.start("run", "-q", lab.file(LOOKED_AT.format(place=lab.place)))
    assert until(lab.runs)
    seen = []
    while started.process.poll() is None:
        listed = fork_server.run(lab, "list", "--json")
        assert listed.code == 0, listed.said
        (entry,) = json.loads(listed.said)
        assert entry["state"] in ("running", "died", "complete")  # it died if it has not quite begun
        seen.append(entry["trials"])
        (lab.place / f"look-{entry['trials'] + 1}").touch()
        if importlib.util.find_spec("steelyard.cli.show") and entry["trials"]:
            shown = fork_server.run(lab, "show", "last")
            assert "Traceback" not in shown.said, shown.said
    assert started.ended().code == 0, started.said()
    assert seen == sorted(seen)
    assert set(seen) >= set(range(6))
    assert len(lab.results()) == 6


def populate(store: Path, model: Path, number: int) -> None:
    """So many runs that ended well."""
    for index in range(number):
        run = store / "runs" / f"202401{1 + index // 100:02}-{index % 100:06}-model-{index:04x}"
        run.mkdir(parents=True)
        for path in model.iterdir():
            if path.is_file():
                shutil.copy(path, run)


def test_a_thousand_runs_are_listed(lab: Lab, fork_server: ForkServer) -> None:
    """How soon, the bench says."""
    assert fork_server.run(lab, "run", "--", "true").code == 0
    populate(lab.place / "many", lab.runs()[0], 1000)
    listed = lab.steelyard("list", "--all", "--json", "--store", str(lab.place / "many"))
    found = json.loads(listed.said)
    assert {(entry["state"], entry["trials"]) for entry in found} == {("complete", 6)}
    assert [entry["run"] for entry in found] == sorted(entry["run"] for entry in found)
    assert len(found) == 1000


@pytest.mark.parametrize(
    "garbage", [b"", b"\0" * 5000, b"[1]\n", b'{"kind": 1}\n', b'{"kind":"x","done":{}}\n']
)
def test_a_damaged_run_does_not_hide_the_others(garbage: bytes, lab: Lab, fork_server: ForkServer) -> None:
    assert fork_server.run(lab, "run", "--repeat", "1", "--", "true").code == 0
    damaged = lab.store / "runs" / "20240101-000000-damaged-0000"
    damaged.mkdir()
    (damaged / "journal.ndjson").write_bytes(garbage)
    listed = fork_server.run(lab, "list", "--json")
    assert listed.code == 0, listed.said
    assert [(entry["state"], entry["trials"]) for entry in json.loads(listed.said)] == [
        ("died", 0),
        ("complete", 1),
    ]
    assert fork_server.run(lab, "clean").code == 0
    resumed = fork_server.run(lab, "resume", damaged.name)
    assert resumed.code in (2, 3)
    assert "Traceback" not in resumed.said
