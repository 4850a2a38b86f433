"""Functions as timelines beside real trials: played in order, recorded, found again by a later sitting."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from steelyard import api
from steelyard.controller import run as runs
from steelyard.errors import UsageError
from steelyard.model.experiment import Experiment
from steelyard.spec.stores import choose_store

pytestmark = pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed")
Lasting = Callable[[int], list[str]]
CHAOS = '''
"""Kills, looks, and brings back."""
import math

def chaos(trial):
    done = yield {"at": "100ms", "do": "kill", "service": "net", "node": 0}
    yield {"do": "run", "run": ["echo", done.facts["host"], str(trial.states["net.settled"])], "on": "client"}
    yield {"do": "restart", "service": "net", "node": 0}
    again = yield {"when": "net.settled", "within": "1h", "do": "run", "run": ["true"], "on": "client"}
    for turn in range(math.floor(trial.parameters["n"])):
        yield {"at": trial.elapsed + 0.05, "do": "run", "run": ["true"], "on": "client"}
'''


def tree(timeline: Any, run: list[str], **more: Any) -> dict[str, Any]:
    return {
        "experiment": "played",
        "parameters": {"n": [2]},
        "roles": {"server": 1, "client": 1},
        "services": {"net": {"use": "iperf3", "open": True, "on": "server"}},
        "workload": {"use": "command", "on": "client", "run": run},
        "timeline": timeline,
        "telemetry": "off",
        "repeat": 1,
        "disturbed": "exclude",
        **more,
    }


def file_of(folder: Path, timeline: str, run: Sequence[str] = ("true",)) -> Path:
    """An experiment file beside what it names."""
    folder.mkdir(exist_ok=True)
    path = folder / "played.yaml"
    path.write_text(
        "experiment: played\nsite: local:2\nparameters: {n: [2]}\nroles: {server: 1, client: 1}\n"
        "services: {net: {use: iperf3, open: true, on: server}}\n"
        "telemetry: off\nrepeat: 1\ndisturbed: exclude\n"
        f"workload: {{use: command, on: client, run: {json.dumps(run)}}}\ntimeline: {timeline}\n"
    )
    return path


def missed(trial: Any) -> list[str]:
    """Apart from what others on the machine disturb."""
    return [mark.reason for mark in trial.marks if mark.kind == "incomplete"]


def events(run: api.Run) -> list[dict[str, Any]]:
    return [line for line in run.record.journal if line["kind"] == "event-ended"]


def test_a_file_names_a_function_and_its_run_can_be_gone_on_with_elsewhere(
    tmp_path: Path, told: Any, lasting: Lasting
) -> None:
    place = tmp_path / "mine"
    file = file_of(place, "{use: chaos.py:chaos}", lasting(6))
    (place / "chaos.py").write_text(CHAOS)
    run = api.run(file, observer=told)
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    assert missed(trial) == []
    assert [line["event"] for line in events(run)] == ["kill", "run", "restart", "run", "run", "run"]
    assert {line["entry"] for line in events(run)} == {0}
    began = [line["began"] for line in events(run)]
    assert began == sorted(began)
    (said, *_) = sorted((run.record.folder.trial(1) / "events").rglob("*.stdout"))
    assert said.read_text() == "local-0 False\n"
    (kept,) = run.record.folder.functions.iterdir()
    assert (kept.name, kept.read_text().strip()) == ("1-chaos.py", CHAOS.strip())
    shutil.rmtree(place)
    runs.extend(run.record.folder, choose_store(None), levels={}, repeat=2, observer=told)
    again = api.load(run.id)
    assert [trial.result.status for trial in again.record.trials] == ["ok", "ok"]
    assert len(events(again)) == 2 * 6


def beat(trial: Any) -> Iterator[Any]:
    """For ever, as far as it is concerned; from the third on with a day between."""
    for number in itertools.count():
        at = trial.elapsed + (0.2 if number < 2 else 86400)
        yield {"at": at, "do": "run", "run": ["true"], "on": trial.random.choice(["server", "client"])}


def stumble(trial: Any) -> Iterator[Any]:
    yield {"do": "run", "run": ["true"], "on": "client"}
    raise LookupError("nobody is there")


STAYS = """
until [ -e "$0" ]; do sleep 0.02; done
touch "$0.begun"
while kill -0 "$(cat "$0")"; do sleep 0.02; done
sleep 1"""
"""A second longer than the program whose number is in a file, once that is there."""


def slow(trial: Any) -> Iterator[Any]:
    yield {"do": "run", "run": ["sh", "-c", STAYS, trial.parameters["flag"]], "on": "client"}


def test_one_that_never_ends_ends_with_its_phase(told: Any, lasting: Lasting) -> None:
    run = api.run(Experiment(**tree(beat, lasting(2))), site="local:2", observer=told)
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    assert missed(trial) == []
    assert len(events(run)) == 2
    assert run.record.design["timeline"] == [{"do": "script", "use": "test_functions.py:beat"}]
    (kept,) = run.record.folder.functions.iterdir()
    assert "def beat(trial" in kept.read_text()


def test_what_it_had_begun_when_its_phase_ended_is_marked(tmp_path: Path, told: Any) -> None:
    flag = tmp_path / "flag"
    begun = [
        "sh",
        "-c",
        f"echo $$ >{flag}.new; mv {flag}.new {flag}; until [ -e {flag}.begun ]; do sleep 0.02; done",
    ]
    run = api.run(tree(slow, begun, parameters={"flag": [str(flag)]}), site="local:2", observer=told)
    (trial,) = run.record.trials
    assert missed(trial) == ["entry 1 of the timeline, script was not complete before its phase ended"]


def test_its_mistake_fails_the_trial_with_its_line(told: Any, lasting: Lasting) -> None:
    run = api.run(tree(stumble, lasting(2)), site="local:2", observer=told)
    (trial,) = run.record.trials
    assert trial.result.category == "event-failed"
    assert "test_functions.py:stumble, line " in trial.message
    assert "LookupError: nobody is there" in trial.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("def chaos(trial): yield", "cannot be imported .*SyntaxError"),
        ("import no_such_module_at_all\ndef chaos(trial):\n    yield", "ModuleNotFoundError"),
        ("def order(trial):\n    yield", "has no attribute 'chaos'"),
        ("def chaos(trial):\n    return []", "is not a generator function"),
    ],
)
def test_one_that_cannot_be_had_is_told_before_anything_starts(
    text: str | None, said: str, tmp_path: Path, told: Any, own_place: Path
) -> None:
    file = file_of(tmp_path / "mine", "{use: chaos.py:chaos}")
    if text:
        broken = text.replace("): yield", ") yield")
        file.with_name("chaos.py").write_text(broken)
    with pytest.raises(UsageError, match=said):
        api.run(file, observer=told)
    assert not (own_place / "store").exists()


def test_a_file_that_others_may_write_is_not_run(tmp_path: Path, told: Any) -> None:
    file = file_of(tmp_path / "mine", "{use: chaos.py:chaos}")
    flag = tmp_path / "flag"
    function = file.with_name("chaos.py")
    function.write_text(f"open({str(flag)!r}, 'w')\n{CHAOS}")
    function.chmod(0o666)
    with pytest.raises(UsageError, match=r"chaos\.py is not used: .* others may write to it"):
        api.run(file, observer=told)
    assert not flag.exists()


def test_a_later_sitting_that_cannot_have_it_says_so(tmp_path: Path, told: Any) -> None:
    file = file_of(tmp_path / "mine", "{use: chaos.py:quiet}")
    file.with_name("chaos.py").write_text("def quiet(trial):\n    return\n    yield\n")
    run = api.run(file, observer=told)
    (kept,) = run.record.folder.functions.iterdir()
    kept.write_text("from no_such_module_at_all import quiet\n")
    with pytest.raises(UsageError, match=r"'quiet' cannot be imported from .*1-chaos\.py: ModuleNotFound"):
        api.resume(run.id, observer=told)


def test_one_without_a_file_is_played_and_a_later_sitting_says_that_it_is_gone(
    told: Any, lasting: Lasting
) -> None:
    place: dict[str, Any] = {}
    exec("def gone(trial):\n    yield {'do': 'run', 'run': ['true'], 'on': 'client'}\n", place)
    run = api.run(tree(place["gone"], lasting(1)), site="local:2", observer=told)
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    assert len(events(run)) == 1
    with pytest.raises(UsageError, match=r"'gone' cannot be imported from .*1-unknown\.py: AttributeError"):
        api.resume(run.id, observer=told)


def test_a_file_is_checked_without_running_it(tmp_path: Path) -> None:
    from steelyard.spec.load import load

    experiment, _ = load(file_of(tmp_path / "mine", "{use: nowhere.py:chaos}"))
    assert experiment.timeline[0].function is None
    with pytest.raises(Exception, match=r"must name a file and a function in it, such as chaos\.py:chaos"):
        load(file_of(tmp_path / "mine", "{use: nowhere}"))
