"""`--notify`: what a run came to is told, once, and what cannot be told harms no run."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from patience import until
from steelyard.analysis.findings import Findings
from steelyard.cli.notifying import make_notifier

FILE = """\
experiment: told
workload:
  use: command
  script: "echo took: 100"
  metrics: {took: {regex: 'took: (.*)', unit: ms, better: lower}}
require: [took <= LIMIT]
repeat: N
disturbed: include
"""


@pytest.fixture
def told(steelyard, tmp_path):
    """Run the file; the exit code, what was told, and what standard error says."""
    program = tmp_path / "tell"
    program.write_text(f'#!/bin/sh\n{{ echo "$STEELYARD_NOTICE_EVENT"; cat; echo; }} >> {tmp_path}/told\n')
    program.chmod(0o755)

    def call(limit: str, repeat: int, *words: str):
        Path("told").unlink(missing_ok=True)
        Path("f.yaml").write_text(FILE.replace("LIMIT", limit).replace("N\n", f"{repeat}\n"))
        said = steelyard("run", "-q", "f.yaml", "--notify", str(program), *words)
        return said.code, Path("told").read_text() if Path("told").exists() else "", said.err

    return call


def test_what_a_run_came_to_is_told(told):
    code, text, _ = told("1 s", 6)
    assert (code, text.splitlines()[0]) == (0, "finished")
    assert "told: took" in text
    code, text, _ = told("1 ms", 6)
    assert (code, text.splitlines()[0]) == (1, "not-met")
    assert "took <= 1 ms  not met in 1 of 1 cell" in text
    code, text, _ = told("1 s", 1)
    assert (code, text.splitlines()[0]) == (1, "undecided")


def test_a_run_that_cannot_be_carried_out_is_told(told):
    code, text, _ = told("1 s", 1, "--scratch", "/proc/nothing")
    assert code == 3
    assert text.splitlines()[0] == "failed"
    assert "/proc/nothing" in text


def test_what_cannot_be_told_harms_no_run(steelyard):
    Path("f.yaml").write_text(FILE.replace("LIMIT", "1 s").replace("N\n", "6\n"))
    said = steelyard("run", "-q", "f.yaml", "--notify", "http://127.0.0.1:9/secret", "--notify", "false")
    assert said.code == 0
    assert "cannot notify 127.0.0.1: " in said.err
    assert "cannot notify false: it ended with code 1" in said.err
    assert "secret" not in said.err
    journal = next(Path("store/runs").glob("*/journal.ndjson"))
    assert "secret" not in journal.read_text()


def test_a_target_that_is_none_stops_before_anything_runs(steelyard):
    Path("f.yaml").write_text(FILE.replace("LIMIT", "1 s").replace("N\n", "6\n"))
    said = steelyard("run", "f.yaml", "--notify", "ftp://x")
    assert said.code == 2
    assert not Path("store").exists()


def test_a_regression_is_told_when_it_is_first_seen(make_runs, tmp_path):
    out = tmp_path / "out"
    notifier = make_notifier([f"tee -a {out}"])
    history = make_runs(40, shift_at=30)
    notifier.tell_outcome(Findings(history.runs[-1].record), 0)
    assert "is worse" not in out.read_text(), "the run before saw it already"
    early = make_runs_until_seen(make_runs, tmp_path)
    notifier.tell_outcome(Findings(early), 0)
    assert "write_bandwidth is worse in 1 of 2 cells" in out.read_text()


def make_runs_until_seen(make_runs, tmp_path):
    """The first run at which the history of another store names the change."""
    root = tmp_path / "other"
    make = functools.partial(make_runs.func, make_runs.args[0], root)
    history = make(24, shift_at=20)
    while not history.alarms:
        history = make(1, shift_at=0)
    return history.runs[-1].record


def test_a_detached_job_inherits_the_targets(monkeypatch):
    monkeypatch.setenv("STEELYARD_NOTIFY", "cat")
    assert make_notifier([])._targets
    assert "STEELYARD_NOTIFY" not in os.environ, "the job that is followed tells nothing"
    make_notifier(["true", "false"], detach=True)
    assert os.environ["STEELYARD_NOTIFY"] == "true\nfalse"


def test_a_rule_names_who_is_told(steelyard, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "steelyard").mkdir(parents=True)
    names = tmp_path / "config" / "steelyard" / "notify.yaml"
    names.write_text(f"phone: tee -a {tmp_path}/phone\n")
    names.chmod(0o600)
    rule = "alert: [{when: took > 1ms, notify: phone}]\n"
    text = FILE.replace("LIMIT", "1 s").replace("N\n", "1\n").replace('took: 100"', 'took: 100; sleep 4"')
    Path("f.yaml").write_text(text + rule)
    assert steelyard("run", "-q", "f.yaml").code in (0, 1)
    assert until((tmp_path / "phone").exists)
    assert "took > 1ms holds, in repetition 1" in (tmp_path / "phone").read_text()
    Path("f.yaml").write_text(text + rule.replace("phone", "nobody"))
    said = steelyard("run", "f.yaml")
    assert (said.code, "nobody" in said.err) == (2, True)


def test_an_extended_run_is_told_too(told, steelyard, tmp_path):
    told("1 s", 6)
    Path("told").unlink()
    assert steelyard("extend", "last", "-q", "--repeat", "7", "--notify", f"{tmp_path}/tell").code == 0
    assert Path("told").read_text().splitlines()[0] == "finished"
