"""The life of a trial: its directory, its retries, its time, its record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from steelyard.analysis.requirements import judge
from steelyard.api import Run

if TYPE_CHECKING:
    from conftest import Recorder

    Measure = Callable[..., Run]


def lines(run: Run, kind: str) -> list[dict[str, Any]]:
    return [line for line in run.record.journal if line["kind"] == kind]


def said(run: Run, number: int, phase: str = "run") -> str:
    return (run.record.folder.phase(number, "host-0", phase) / "stdout").read_text()


# Directories


def test_a_trial_begins_in_an_empty_directory_which_is_removed(measure: Measure) -> None:
    run = measure("ls -A; pwd; mkdir -p a/b; echo x > a/b/c; ln -s / root", repeat=2)
    for number in (1, 2):
        (where,) = said(run, number).splitlines()
        assert re.search(rf"scratch/steelyard-{run.id}-[0-9a-f]{{16}}/t{number}$", where)
        assert not Path(where).exists()
    assert not (run.record.folder.path.parents[1] / "scratch").exists()


def test_kept_files_are_found_by_the_cell_that_made_them(measure: Measure) -> None:
    """And by no other; at the end they are removed all the same."""
    script = "cat found 2>/dev/null || true; echo $n >> found; pwd"
    run = measure(script, parameters={"n": [1, 2]}, repeat=3, reset="keep", order="as-written")
    outputs = [said(run, number).split() for number in range(1, 7)]
    assert [found[:-1] for found in outputs] == [[], ["1"], ["1", "1"], [], ["2"], ["2", "2"]]
    places = {found[-1] for found in outputs}
    assert len(places) == 2
    assert not any(Path(place).exists() for place in places)


def test_a_directory_of_ones_own_is_used_and_only_what_was_made_in_it_removed(
    measure: Measure, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "data").touch()
    run = measure("pwd", options={"directory": str(tmp_path / "mine")})
    assert re.fullmatch(rf"{tmp_path}/mine/steelyard-{run.id}-[0-9a-f]{{16}}/t1", said(run, 1).strip())
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["data"]


def test_phases_share_a_directory_and_metrics_bear_their_names(measure: Measure) -> None:
    workload = [
        {"phase": "load", "use": "command", "script": "echo 42 > data", "measured": False},
        {"phase": "first", "use": "command", "script": "cat data", "metrics": {"x": {"regex": r"(\d+)"}}},
        {"phase": "second", "use": "command", "script": "echo 7", "metrics": {"x": {"regex": r"(\d+)"}}},
    ]
    run = measure("", workload=workload)
    (trial,) = run.record.trials
    assert (trial.result.metrics["first_x"], trial.result.metrics["second_x"]) == (42.0, 7.0)
    assert not any(name.startswith("load") for name in trial.result.metrics)
    phases = [phase["phase"] for phase in run.record.trial_document(1)["phases"]]
    assert phases == ["load-run", "first-run", "second-run"]


# Retries


def test_a_failure_that_the_file_says_to_retry_is_retried(
    measure: Measure, told: Recorder, tmp_path: Path
) -> None:
    """Each attempt has its number and its line; only the last one counts."""
    run = measure(f"echo x >> {tmp_path}/count; test $(wc -l < {tmp_path}/count) -ge 3", retry=5)
    ends = lines(run, "trial-ended")
    assert [(end["trial"], end["attempt"], end["status"]) for end in ends] == [
        (1, 1, "failed"),
        (2, 2, "failed"),
        (3, 3, "ok"),
    ]
    assert [end.get("retried", False) for end in ends] == [True, True, False]
    assert [(end["done"], end["failed"]) for end in ends] == [(0, 0), (0, 0), (1, 0)]
    (trial,) = run.record.trials
    assert (trial.number, trial.attempt, trial.result.status) == (3, 3, "ok")
    assert told.counts == [0, 0, 1]
    retries = [message.rpartition("; ")[2] for _, _, message in told.ends]
    assert retries == ["retry 1 of 5 follows", "retry 2 of 5 follows", ""]
    assert all((run.record.folder.trial(number) / "trial.json").exists() for number in (1, 2, 3))


def test_retries_come_to_an_end(measure: Measure) -> None:
    run = measure("exit 9", retry={"times": 2}, repeat=2)
    ends = lines(run, "trial-ended")
    assert [end["attempt"] for end in ends] == [1, 2, 3, 1, 2, 3]
    assert [end["trial"] for end in ends] == [1, 2, 3, 4, 5, 6]
    assert [trial.number for trial in run.record.trials] == [3, 6]
    assert (ends[-1]["done"], ends[-1]["failed"]) == (2, 2)


@pytest.mark.parametrize(("on", "attempts"), [(["crashed"], 2), (["timed-out", "host-failed"], 1)])
def test_only_the_failures_that_are_named_are_retried(on: list[str], attempts: int, measure: Measure) -> None:
    run = measure("exit 9", retry={"times": 1, "on": on})
    assert len(lines(run, "trial-ended")) == attempts


def test_garbage_is_not_retried_unless_named(measure: Measure) -> None:
    metrics = {"x": {"regex": r"(\d+)"}}
    run = measure("echo nothing", options={"metrics": metrics}, retry=3)
    (end,) = lines(run, "trial-ended")
    assert end["category"] == "unreadable-output"


# Time


def test_the_nearest_limit_counts(measure: Measure) -> None:
    """That of the workload goes before that of the experiment."""
    script = "test $n = 1 || sleep 300"
    options = {"timeout": "10s"}
    run = measure(script, parameters={"n": [1, 2]}, options=options, timeout="10min")
    trials = {trial.result.trial.cell.parameters["n"]: trial for trial in run.record.trials}
    assert trials[1].result.status == "ok"
    assert trials[2].result.category == "timed-out"
    assert "within 10 s" in trials[2].message
    assert trials[2].result.seconds >= 10
    phases = run.record.trial_document(trials[2].number)["phases"]
    assert [phase["exit"]["timed_out"] for phase in phases] == [True]


def test_a_program_that_says_goodbye_when_told_to_end_still_timed_out(measure: Measure) -> None:
    run = measure("trap 'echo 1; exit 0' TERM; sleep 300 & wait", timeout="0.2s")
    assert run.record.trials[0].result.category == "timed-out"


def test_a_run_within_its_budget(measure: Measure) -> None:
    run = measure("sleep 0.2", repeat={"at_least": 50, "budget": "0.5s"})
    spent = [trial.result.seconds for trial in run.record.trials]
    assert sum(spent[:-1]) < 0.5 <= sum(spent), "the trial that spends it is the last"
    ended = run.record.journal[-1]
    assert (ended["state"], ended["reason"]) == ("complete", "budget")


# The record


def test_what_was_run_is_recorded(measure: Measure) -> None:
    run = measure("echo hello; echo more > $RAW/file", options={"env": {"MINE": "1"}, "stdin": "some input"})
    document = run.record.trial_document(1)
    (phase,) = document["phases"]
    assert phase["argv"] == ["sh", "-eu", "-c", "echo hello; echo more > $RAW/file"]
    assert phase["env"]["MINE"] == "1"
    ours = {"MINE", "RAW", "OMPI_MCA_ess_singleton_isolated"}
    assert set(phase["env"]) == ours, "nothing of the user's environment"
    assert (phase["exit"]["code"], phase["exit"]["signal"]) == (0, None)
    folder = run.record.folder.phase(1, "host-0", "run")
    assert (folder / "raw" / "file").read_text() == "more\n"
    assert (folder / "stdin").read_text() == "some input"


def test_a_parameter_may_be_any_text(measure: Measure) -> None:
    """Nothing of it is interpolated, and the record tells it as it was."""
    odd = ["$(touch /tmp/pwned)", "a b", "'", '"; exit 3', "ü\n\t\\", "--"]
    run = measure('printf %s "$text"', parameters={"text": odd}, order="as-written")
    assert [trial.result.status for trial in run.record.trials] == ["ok"] * 6
    assert [said(run, number) for number in range(1, 7)] == odd
    assert [trial.result.trial.cell.parameters["text"] for trial in run.record.trials] == odd


def test_a_text_that_no_program_can_be_given_fails_its_trial_only(measure: Measure) -> None:
    odd = ["\ud800", "a\0b", "fine"]
    run = measure("true", parameters={"text": odd}, order="as-written")
    assert [trial.result.status for trial in run.record.trials] == ["failed", "failed", "ok"]
    assert [trial.result.trial.cell.parameters["text"] for trial in run.record.trials] == odd


def test_every_figure_of_a_trial_is_in_the_journal(measure: Measure) -> None:
    """Nothing else is needed to analyse a run."""
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MiB/s", "better": "higher"}}
    run = measure("echo rate 2.5", options={"metrics": metrics})
    (end,) = lines(run, "trial-ended")
    assert end["metrics"]["rate"] == 2.5 * 2**20
    assert set(end["metrics"]) == {"rate", "wall", "user", "system", "peak_memory"}
    assert end["metrics"] == json.loads((run.record.folder.trial(1) / "metrics.json").read_text())["values"]


def test_the_minder_has_nothing_to_complain_about(measure: Measure) -> None:
    run = measure("true", repeat=3)
    assert run.record.folder.minder_log.read_text() == ""
    assert not re.search("Traceback", "".join(run.record.warnings))


# Computed metrics


def test_computed_metrics_are_recorded_judged_and_stop_repetitions(measure: Measure) -> None:
    run = measure(
        "echo $n",
        parameters={"n": [1, 4]},
        options={"metrics": {"size": {"regex": "(.+)", "unit": "KiB"}}},
        metrics={"each": {"is": "size / n", "unit": "B"}, "left": "size / (n - 1)"},
        require=["each.median == 1 KiB", {"that": "left.median >= 1", "where": "n > 1"}],
        repeat={"at_least": 6, "at_most": 9, "until": {"metric": "each", "within": "1%"}},
        disturbed="include",
    )
    ended = [(line["parameters"]["n"], line["metrics"]) for line in lines(run, "trial-ended")]
    assert {figures["each"] for _, figures in ended} == {1024.0}
    assert all(("left" in figures) == (n == 4) for n, figures in ended)
    assert {line["facts"].get("not_computed", {}).get("left") for line in lines(run, "trial-ended")} == {
        None,
        "division by zero in 'size / (n - 1)'",
    }
    told = [line["text"] for line in lines(run, "warning") if "left" in line["text"]]
    assert told == ["in some trials left has no value: division by zero in 'size / (n - 1)'"]
    assert [str(one.verdict) for one in judge(run.record, run.summary)] == ["met", "met"]
    stored = json.loads((run.record.folder.trial(1) / "metrics.json").read_text())
    assert stored["values"]["each"] == 1024.0
    assert [metric.name for metric in run.summary.primary][:3] == ["each", "left", "size"]
