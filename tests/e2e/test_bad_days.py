"""Programs that misbehave, and places that cannot be written to: recorded, told, and the rest goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import ForkServer, Lab, Line

    Mount = Callable[..., AbstractContextManager[Path]]

ZOO = r"""
experiment: zoo
parameters: {what: [fine, code, signal, hang, garbage, silent, flood, daemon, vandal]}
workload:
  use: command
  timeout: 20s
  script: |
    case "$what" in
      code) echo some words; echo the last words >&2; exit 7 ;;
      signal) kill -SEGV $$ ;;
      hang) trap '' TERM; (trap '' TERM; setsid sleep 300) & sleep 300; sleep 300 ;;
      garbage) head -c 100000 /dev/urandom; exit 0 ;;
      silent) exit 0 ;;
      flood) head -c 104857600 /dev/zero; exit 0 ;;
      daemon) (setsid sleep 300 &); (setsid sh -c 'setsid sleep 300 & wait' &); sleep 0.2 ;;
      vandal) rm "$RAW/../stdout"; rm -rf "$RAW" ;;
    esac
    echo "value: 7"
  metrics: {value: {regex: '^value: (\d+)$'}}
repeat: 1
disturbed: include
"""


@pytest.fixture(scope="module")
def zoo(fork_server: ForkServer, stage: Any) -> Iterator[tuple[Lab, dict[str, Line]]]:
    """One run of all of them, and the last line of each."""
    with stage() as lab:
        outcome = fork_server.run(lab, "run", lab.file(ZOO))
        journal = lab.journal()
        assert journal[-1]["state"] == "complete", outcome.said
        ended = {line["parameters"]["what"]: line for line in journal if line["kind"] == "trial-ended"}
        assert len(ended) == 9, "every trial has its line, whatever happened to the others"
        yield lab, ended


@pytest.mark.parametrize(
    ("what", "category", "evidence"),
    [
        ("code", "crashed", "run: sh ended with code 7; output: the last words"),
        ("signal", "crashed", "run: sh was terminated by signal 11"),
        ("hang", "timed-out", "run did not finish within 20 s and was terminated"),
        ("garbage", "unreadable-output", "metric value: no match for"),
        ("silent", "unreadable-output", "metric value: no match for '^value: (\\\\d+)$' in empty output"),
        ("flood", "unreadable-output", "run: stdout is larger than 64 MiB"),
        ("vandal", "unreadable-output", "stdout"),
    ],
)
def test_a_misbehaving_program_fails_its_trial(
    what: str, category: str, evidence: str, zoo: tuple[Lab, dict[str, Line]]
) -> None:
    lab, ended = zoo
    line = ended[what]
    assert (line["status"], line["category"]) == ("failed", category)
    assert evidence in line["message"]
    assert line["metrics"] == {}
    document = json.loads((lab.runs()[0] / "trials" / str(line["trial"]) / "trial.json").read_text())
    (phase,) = document["phases"]
    assert phase["argv"][:2] == ["sh", "-eu"], "what was run is evidence, too"
    assert phase["exit"]["timed_out"] == (what == "hang")


def test_what_daemons_leave_behind_is_ended_and_marked(zoo: tuple[Lab, dict[str, Line]]) -> None:
    lab, ended = zoo
    assert not lab.bearers(lab.runs()[0].name)
    assert ended["daemon"]["status"] == "ok"
    assert any("processes were still running" in mark["reason"] for mark in ended["daemon"]["marks"])


def test_the_others_are_not_touched(zoo: tuple[Lab, dict[str, Line]]) -> None:
    lab, ended = zoo
    assert (ended["fine"]["status"], ended["fine"]["metrics"]["value"]) == ("ok", 7.0)
    assert not any("still running" in mark["reason"] for mark in ended["fine"]["marks"])
    assert {what for what, line in ended.items() if line["status"] == "ok"} == {"fine", "daemon"}
    assert not any((lab.store / "scratch").glob("*"))


def test_a_missing_tool_fails_its_trials(lab: Lab, fork_server: ForkServer) -> None:
    outcome = fork_server.run(lab, "run", "--repeat", "2", "--", "{true,no-such-tool}")
    ended = [line for line in lab.journal() if line["kind"] == "trial-ended"]
    assert [line["status"] for line in ended if line["parameters"] == {"arg0": "true"}] == ["ok", "ok"]
    failed = [line for line in ended if line["status"] == "failed"]
    assert [line["category"] for line in failed] == ["tool-missing", "tool-missing"]
    assert "no-such-tool" in failed[0]["message"]
    assert "FAILED (tool-missing)" in outcome.said


def test_a_plug_in_with_a_mistake_costs_its_trial_only(lab: Lab) -> None:
    """Its parse raises what it should not, once in two."""
    package = lab.place / "packages"
    (package / "faulty-1.dist-info").mkdir(parents=True)
    (package / "faulty-1.dist-info" / "entry_points.txt").write_text(
        "[steelyard.workloads]\nfaulty = faulty_plugin\n"
    )
    (package / "faulty-1.dist-info" / "METADATA").write_text("Name: faulty\nVersion: 1\n")
    (package / "faulty_plugin.py").write_text(FAULTY_PLUG_IN)
    text = "experiment: faulty\nparameters: {n: [0, 1, 2]}\nworkload: {use: faulty, n: '${n}'}\nrepeat: 1\n"
    outcome = lab.steelyard("run", lab.file(text), PYTHONPATH=str(package))
    ended = {line["parameters"]["n"]: line for line in lab.journal() if line["kind"] == "trial-ended"}
    assert [ended[n]["status"] for n in range(3)] == ["ok", "failed", "failed"], outcome.said
    assert "ZeroDivisionError" in ended[1]["message"]
    assert "Out of range float" in ended[2]["message"]
    assert lab.journal()[-1]["state"] == "complete"


FAULTY_PLUG_IN = '''
from steelyard.model.command import Command
from steelyard.model.metric import Metric, Reading
from steelyard.workloads.base import Workload, WorkloadOptions

class FaultyOptions(WorkloadOptions):
    n: int

class Faulty(Workload[FaultyOptions]):
    """Divides by zero, and finds what is not a number."""
    Options = FaultyOptions
    def metrics(self):
        return (Metric("value", "1", "none"),)
    def command(self, place):
        return Command(("true",))
    def parse(self, phase, output):
        value = [1.0, None, float("nan")][self.options.n]
        return Reading({"value": 1 / 0 if value is None else value})
'''


@pytest.fixture
def unwritable(lab: Lab, mount: Mount) -> Iterator[Path]:
    """A directory that not even root can write to."""
    if os.geteuid() == 0:
        with mount("size=1m,ro") as place:
            yield place
    else:
        place = lab.place / "closed"
        place.mkdir(mode=0o555)
        yield place


def test_an_unwritable_store_is_told(lab: Lab, fork_server: ForkServer, unwritable: Path) -> None:
    outcome = fork_server.run(lab, "run", "--store", str(unwritable), "--", "true")
    assert outcome.code == 3
    assert f"cannot create a run in the store {unwritable}: " in outcome.said
    assert "choose another place with --store DIR or STEELYARD_STORE" in outcome.said
    assert "Traceback" not in outcome.said


@pytest.mark.parametrize("form", ["a file", "a dangling link", "in a file"])
def test_a_store_that_is_no_directory_is_told(form: str, lab: Lab, fork_server: ForkServer) -> None:
    place = lab.place / "odd"
    if form == "a dangling link":
        place.symlink_to(lab.place / "nowhere")
    else:
        place.touch()
    name = str(place / "x" if form == "in a file" else place)
    for argv in (["run", "--store", name, "--", "true"], ["list", "--store", name]):
        outcome = fork_server.run(lab, *argv)
        assert outcome.code in (2, 3) or (argv[0], outcome.code) == ("list", 0), outcome.said
        assert "Traceback" not in outcome.said


def test_an_unwritable_scratch_is_told_before_any_trial(
    lab: Lab, fork_server: ForkServer, unwritable: Path
) -> None:
    outcome = fork_server.run(lab, "run", "--scratch", str(unwritable / "here"), "--", "true")
    assert outcome.code == 3, outcome.said
    assert f"cannot create the scratch directory {unwritable}/here" in outcome.said
    assert "choose another directory with --scratch DIR or STEELYARD_SCRATCH" in outcome.said
    journal = lab.journal()
    assert [line["kind"] for line in journal] == ["run-started", "warning", "scratch", "run-ended"]
    assert (journal[-1]["state"], journal[-1]["done"]) == ("failed", 0)
    assert fork_server.run(lab, "resume", "last").code == 0, "the scratch is the sitting's, not the run's"


def test_an_unwritable_directory_of_a_workload_fails_its_trials(
    lab: Lab, fork_server: ForkServer, unwritable: Path
) -> None:
    """Only those cells that lie there."""
    text = f"""
experiment: places
parameters: {{place: [{lab.place}/good, {unwritable}/bad]}}
workload: {{use: command, run: ["true"], directory: "${{place}}"}}
repeat: 1
disturbed: include
"""
    (lab.place / "good").mkdir()
    (lab.place / "good" / "mine").touch()
    outcome = fork_server.run(lab, "run", lab.file(text))
    ended = {
        line["parameters"]["place"][-4:]: line for line in lab.journal() if line["kind"] == "trial-ended"
    }
    assert ended["good"]["status"] == "ok", outcome.said
    assert ended["/bad"]["category"] == "host-failed"
    assert "cannot create the scratch directory" in ended["/bad"]["message"]
    assert [path.name for path in (lab.place / "good").iterdir()] == ["mine"]


def test_a_directory_of_the_user_stays(lab: Lab, fork_server: ForkServer) -> None:
    """Also when it was empty before and is empty again."""
    (lab.place / "mine").mkdir()
    outcome = fork_server.run(lab, "run", "--repeat", "1", "--scratch", str(lab.place / "mine"), "--", "true")
    assert outcome.code == 0, outcome.said
    assert (lab.place / "mine").is_dir()


def test_an_unusable_place_for_the_locks_is_told(lab: Lab, fork_server: ForkServer) -> None:
    (lab.place / "steelyard").touch()  # the fork server keeps its locks in the lab's place
    outcome = fork_server.run(lab, "run", "--", "true")
    assert outcome.code == 3, outcome.said
    assert "set STEELYARD_RUNTIME_DIR" in outcome.said
    assert "Traceback" not in outcome.said
    assert lab.journal()[-1]["state"] == "failed"
