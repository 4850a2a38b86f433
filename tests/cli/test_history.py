"""A history on the command line: decisions, the gate, imports, and a run against what was before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.cli.app import run as call_steelyard

# Both builds scatter alike, as chance alone would fail one comparison in twenty.
GATE = """\
experiment: gate
parameters: {build: [old, new]}
workload:
  use: command
  script: |
    [ $build = new ] && took=$(cat TOOK) || took=100
    echo >> TOOK.$build
    echo took: $((took + $(wc -l < TOOK.$build) * 7 % 10))
  metrics: {took: {regex: 'took: (.*)', unit: ms, better: lower}}
compare: {parameter: build, baseline: old}
repeat: 6
disturbed: include
"""


@pytest.fixture
def history(make_runs, tmp_path, capsys):
    """A store in which something became worse at c30, and the command line over it."""
    make_runs(40, shift_at=30)

    def call(*words):
        capsys.readouterr()
        code = call_steelyard(["history", "synthetic", "--store", str(tmp_path), *words])
        return code, *capsys.readouterr()

    return call


def test_a_gate_fails_until_somebody_says_that_it_was_meant(history):
    code, out, _ = history("--fail-on", "worse")
    assert code == 1
    assert "worse  outstanding=1" in out
    assert history()[0] == 0
    assert history("--expect", "c30", "--why", "checksums", "--fail-on", "worse")[0] == 0
    assert history("--undo", "c30", "--fail-on", "worse")[0] == 1
    code, _, err = history("--expect", "c30")
    assert code == 2
    assert "--why" in err


def test_a_metric_and_an_order_can_be_chosen(history):
    code, out, _ = history("--metric", "write_latency_p99", "--by", "commit", "--fail-on", "worse")
    assert (code, "write_bandwidth, higher" in out) == (0, False)
    assert "in the order of commit" in out
    assert history("--by", "branch")[0] == 2


def test_a_newest_run_without_figures_does_not_pass(make_runs, tmp_path, capsys):
    failures = {(f"outstanding={n}", r): ("crashed", "boom") for n in (1, 8) for r in range(1, 7)}
    make_runs(3, plan=lambda number: {"failures": failures} if number == 2 else {})
    assert call_steelyard(["history", "synthetic", "--store", str(tmp_path), "--fail-on", "worse"]) == 1
    assert "the newest run gives no figure" in capsys.readouterr().err


def measure(steelyard, took: int, tag: str) -> str:
    Path("took").write_text(str(took))
    Path("gate.yaml").write_text(GATE.replace("TOOK", str(Path("took").absolute())))
    said = steelyard("run", "-q", "gate.yaml", "--tag", f"commit={tag}")
    assert said.code == 0, said.err
    return said.out.split("runs/")[-1].split("/")[0]


def test_an_alarm_is_confirmed_side_by_side_before_a_gate_fails(steelyard):
    for number in range(3):
        measure(steelyard, 100, f"c{number}")
    judged = measure(steelyard, 200, "c3")
    words = ("compare", judged, "--against", "segment", "--fail-on", "worse", "--metric", "took")
    said = steelyard(*words)
    assert said.code == 1, said.out
    assert said.err.splitlines()[-1] == "confirmed: it is worse side by side, too"
    Path("took").write_text("100")  # as if the machine had been slow for the whole run
    said = steelyard(*words)
    assert said.code == 0, said.err
    assert said.err.splitlines()[-1].startswith("not confirmed: side by side, no detectable difference")
    said = steelyard(*words, "--no-confirm")
    assert (said.code, said.err.splitlines()[-1]) == (1, "not confirmed: --no-confirm was given")
    history = steelyard("history", "gate.yaml").out
    assert history.count(f"confirms {judged}") == 2
    assert "gate: 4 runs from" in history


def test_an_alarm_without_two_builds_is_said_to_be_unconfirmed(make_runs, tmp_path, capsys):
    history = make_runs(9, shift_at=8)
    words = ["--store", str(tmp_path), "--against", "segment", "--fail-on", "worse", "-m", "write_bandwidth"]
    assert call_steelyard(["compare", history.runs[-1].id, *words]) == 1
    assert "not confirmed: name both builds by `compare:`" in capsys.readouterr().err
    words[3] = "tag:commit=c7"
    assert call_steelyard(["compare", history.runs[-1].id, *words[:4]]) == 0
    assert call_steelyard(["compare", history.runs[-1].id, history.runs[0].id, *words]) == 2


def test_tags_are_added_to_those_of_the_file(steelyard):
    Path("t.yaml").write_text(
        "experiment: t\ntags: {a: 1, b: 2}\nworkload: {use: command, run: ['true']}\n"
        "repeat: 1\ndisturbed: include\n"
    )
    assert steelyard("run", "-q", "t.yaml", "--tag", "b=3", "--tag", "commit=c=1").code == 0
    (run,) = steelyard("list", "--json").document
    assert run["tags"] == {"a": "1", "b": "3", "commit": "c=1"}
    assert steelyard("run", "-q", "--disturbed", "include", "--tag", "x=y", "--", "true").code == 0
    assert steelyard("run", "t.yaml", "--tag", "nothing").code == 2


def test_an_imported_run_is_shown_and_never_run(steelyard):
    Path("t.yaml").write_text("experiment: t\nworkload: {use: command, run: ['true']}\nrepeat: 1\n")
    steelyard("run", "-q", "t.yaml", "--store", "theirs")
    assert "1 of 1 runs imported" in steelyard("import", "theirs").out
    assert "0 of 1 runs imported" in steelyard("import", "theirs").out
    assert steelyard("show", "last").code == 0
    for words in (("resume", "last"), ("extend", "last", "--repeat", "9")):
        said = steelyard(*words)
        assert (said.code, "was imported from" in said.err) == (2, True)
    assert steelyard("import", "nowhere").code == 3
    assert "no runs of x" in steelyard("import", "theirs", "--experiment", "x").err
    assert steelyard("import", "store").code == 2


def test_a_crate_is_shown_and_never_run(steelyard, tmp_path):
    Path("t.yaml").write_text("experiment: t\nworkload: {use: command, run: ['true']}\nrepeat: 1\n")
    steelyard("run", "-q", "t.yaml")
    assert steelyard("export", "last", "--as", "rocrate").code == 2
    made = steelyard("export", "last", "--as", "rocrate", "--license", "MIT", "-o", "t.zip")
    assert (made.code, made.out) == (0, "t.zip\n")
    assert steelyard("show", "t.zip").out == steelyard("show", "last").out
    assert "a published crate" in steelyard("resume", "t.zip").err
    assert not list((tmp_path / "tmp").glob("steelyard-crate-*"))
    Path("bad.zip").write_text("no")
    assert steelyard("show", "bad.zip").code == 3
    assert steelyard("show", "none.zip").code == 3
