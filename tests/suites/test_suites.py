"""Suites on the command line: one answer of many experiments, and nothing is lost when they are cut off."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from patience import until
from steelyard.cli.app import run as call_steelyard
from steelyard.errors import SpecError
from steelyard.spec.suites import is_suite, load_suite
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.store.suites import SuiteFolder, find_suite, list_suites
from steelyard.suites.progress import read_progress
from steelyard.suites.summary import summarise_suite

EXPERIMENT = """\
experiment: NAME
workload:
  use: command
  script: "echo took: 100"
  metrics: {took: {regex: 'took: (.*)', unit: ms, better: lower}}
require: [took <= LIMIT]
repeat: 6
disturbed: include
"""
SUITE = """\
suite: acceptance
about: Whether it may go into production
experiments: [good.yaml, {file: bad.yaml, repeat: 7}, good.yaml]
not_tested: {failover: needs three machines}
tags: {ticket: 17}
"""


HEADS = ["Test plan", "Features not tested", "Specifications", "Results", "Summary"]


@pytest.fixture
def call(own_place, capsys):
    """The command line, in a folder with two experiments and a suite of them."""
    for name, limit in (("good", "1 s"), ("bad", "1 ms")):
        Path(f"{name}.yaml").write_text(EXPERIMENT.replace("NAME", name).replace("LIMIT", limit))
    Path("suite.yaml").write_text(SUITE)

    def run(*words):
        capsys.readouterr()
        return call_steelyard(words), *capsys.readouterr()

    return run


@pytest.fixture
def store(own_place):
    return Store(own_place / "store")


def test_a_suite_has_one_answer_and_a_summary_in_the_order_of_the_standard(call, store):
    code, out, _ = call("run", "-q", "suite.yaml")
    assert code == 1
    assert "2 of 3 experiments passed, 1 not met." in out
    assert "not tested  failover: needs three machines" in out
    text = Path(out.splitlines()[-1]).read_text()
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Test plan",
        "## Features not tested",
        "## Specifications",
        "## Results",
        "## Summary",
    ]
    assert "- `took <= 1 ms` not met in 1 of 1 cell" in text
    runs = [RunRecord(run) for run in store.list_runs()]
    assert [run.design["experiment"] for run in runs] == ["good", "bad", "good"]
    assert runs[1].counts["done"] == 7
    assert runs[0].glance().tags == {"suite": "acceptance", "ticket": "17"}
    assert call("show", "acceptance")[1] == out


def test_every_problem_of_every_file_is_said_before_anything_runs(call, store):
    Path("bad.yaml").write_text("experiment: bad\nworklaod: {}\n")
    Path("suite.yaml").write_text(SUITE.replace("good.yaml]", "nowhere.yaml]"))
    code, _, err = call("run", "suite.yaml")
    assert code == 2
    assert "worklaod" in err
    assert "nowhere.yaml" in err
    assert store.list_runs() == []
    assert list_suites(store) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("suite: x\nexperiments: []\n", "experiments"),
        ("suite: x\nexperimets: [good.yaml]\n", "did you mean 'experiments'?"),
        ("suite: ../x\nexperiments: [good.yaml]\n", "letters"),
        ("suite: x\nexperiments: [good.yaml]\nbudget: 5\n", "5 has no unit"),
        ("suite: x\nexperiments: [{file: good.yaml, repeat: 0}]\n", "repeat"),
        ("suite: x\nexperiments: [{file: good.yaml, levels: {nix: 1}}]\n", "nix"),
    ],
)
def test_what_is_wrong_with_a_suite_is_said_at_its_place(call, text, said):
    Path("suite.yaml").write_text(text)
    assert is_suite(Path("suite.yaml"))
    with pytest.raises(SpecError) as error:
        load_suite(Path("suite.yaml"))
    assert said in str(error.value)
    assert "suite.yaml:" in str(error.value)


def test_what_belongs_to_an_experiment_is_no_option_of_a_suite(call):
    code, _, err = call("run", "suite.yaml", "--repeat", "3")
    assert (code, "--repeat is for one experiment" in err) == (2, True)


def test_an_experiment_that_cannot_be_carried_out_stops_no_other(call, store):
    lost = "{file: bad.yaml, site: 'ssh:none.yaml'}"
    Path("suite.yaml").write_text(SUITE.replace("{file: bad.yaml, repeat: 7}", lost))
    code, out, _ = call("run", "-q", "suite.yaml")
    assert code == 3
    summary = summarise_suite(list_suites(store)[0], store)
    assert [unit.outcome for unit in summary.units] == ["passed", "failed", "passed"]
    assert "none.yaml" in summary.units[1].reason
    assert "2 of 3 experiments passed, 1 failed." in out


def test_a_budget_that_is_spent_leaves_out_the_rest_and_names_it(call, store):
    Path("suite.yaml").write_text(SUITE + "budget: 1ms\n")
    code, out, _ = call("run", "-q", "suite.yaml")
    assert code == 1
    summary = summarise_suite(list_suites(store)[0], store)
    assert [unit.outcome for unit in summary.units][1:] == ["not-run", "not-run"]
    assert "2 not run" in out


def test_plan_and_json(call):
    code, out, _ = call("plan", "suite.yaml")
    assert (code, out.count("== ")) == (0, 3)
    code, out, _ = call("run", "-q", "--json", "suite.yaml")
    document = json.loads(out)
    assert (document["stands"], document["exit_code"]) == ("not-met", 1)
    assert [unit["name"] for unit in document["units"]] == ["good", "bad", "good#2"]


def test_a_suite_that_was_cut_off_goes_on_where_it_was(call, store):
    Path("slow.yaml").write_text(
        "experiment: slow\nworkload: {use: command, run: [sleep, '600']}\nrepeat: 1\ndisturbed: include\n"
    )
    Path("suite.yaml").write_text("suite: long\nexperiments: [good.yaml, slow.yaml, bad.yaml]\n")

    def is_in_second() -> bool:
        runs = store.list_runs()
        return len(runs) == 2 and runs[1].journal.is_file() and bool(RunRecord(runs[1]).last_number)

    process = subprocess.Popen([sys.executable, "-m", "steelyard", "run", "-q", "--beside", "suite.yaml"])
    try:
        assert until(is_in_second)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    folder = find_suite(store, "long")
    units = summarise_suite(folder, store).units
    assert [unit.outcome for unit in units] == ["passed", "interrupted", "not-run"]
    slow = store.list_runs()[1]
    slow.experiment.write_text(slow.experiment.read_text().replace("600", "0.01"))
    code, out, _ = call("resume", "long", "-q")
    assert code == 1
    assert "2 of 3 experiments passed, 1 not met." in out
    assert len(store.list_runs()) == 3, "the first was not made again, the second went on"


def test_who_ends_while_it_is_read_is_not_interrupted(call, store, monkeypatch):
    call("run", "-q", "suite.yaml")
    folder = list_suites(store)[0]
    lines, session = folder.read_lines(), ExitStack()
    session.enter_context(folder.lock())

    def ends_meanwhile(self):
        session.close()
        return lines[:-1]

    monkeypatch.setattr(SuiteFolder, "read_lines", ends_meanwhile)
    assert read_progress(folder, store).state == "running", "it was when we began to look"
    assert not folder.is_live()


def test_what_somebody_else_wrote_is_shown_and_does_nothing(call, store):
    call("run", "-q", "suite.yaml")
    folder = list_suites(store)[0]
    with folder.units.open("ab") as file:
        file.write(b'[1]\n{"kind":"run","unit":"good","run":"../../etc"}\n{"torn')
    assert call("show", "acceptance")[0] == 0
    assert "its run ../../etc is not in the store" in folder.summary.read_text()


def test_rules_of_its_experiments_tell_who_they_name(call, store, tmp_path, monkeypatch):
    config = tmp_path / "config" / "steelyard"
    config.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    (config / "notify.yaml").write_text(f"phone: tee -a {tmp_path}/phone\n")
    (config / "notify.yaml").chmod(0o600)
    slow = Path("good.yaml").read_text().replace('took: 100"', 'took: 100; sleep 4"')
    rule = "alert: [{when: took > 1ms, notify: phone}]\n"
    Path("good.yaml").write_text(slow.replace("repeat: 6", "repeat: 1") + rule)
    Path("suite.yaml").write_text("suite: watched\nexperiments: [good.yaml]\n")
    call("run", "-q", "suite.yaml", "--notify", f"tee -a {tmp_path}/told")
    assert until((tmp_path / "phone").exists)
    assert "took > 1ms holds, in repetition 1" in (tmp_path / "phone").read_text()
    assert "took > 1ms" not in (tmp_path / "told").read_text()
    assert summarise_suite(list_suites(store)[0], store).units[0].outcome == "undecided"


def test_a_file_that_is_not_there_is_told_as_before_there_were_suites(call):
    code, _, err = call("run", "nowhere.yaml")
    assert code == 2
    assert "cannot read nowhere.yaml" in err
    assert "`steelyard init` writes an example" in err


def test_the_list_of_suites_tells_how_far_each_is(call, store):
    assert "no suites in" in call("list", "--suites")[2]
    call("run", "-q", "suite.yaml")
    (folder,) = list_suites(store)
    code, out, _ = call("list", "--suites")
    assert code == 0
    assert folder.id in out
    assert "complete     3 of 3 experiments done" in out
    assert json.loads(call("list", "--suites", "--json")[1])[0]["units"][1]["name"] == "bad"
    assert "1 suite; --suites" in call("list")[2]
    assert not folder.is_live()
    with folder.lock():
        assert "running" in call("list", "--suites")[1]
        code, _, error = call("resume", folder.id)
        assert code == 3
        assert "in use by another process" in error
