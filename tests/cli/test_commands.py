"""Every command as a user types it: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patience import until
from steelyard.cli.app import COMMANDS, run
from steelyard.plugins import builtin_names
from steelyard.spec.conditions import environment_class
from steelyard.spec.sites import site_class

# The machine that runs the tests is busy running them, so that disturbed trials have to count.
SLEEPS = ("run", "-q", "--disturbed", "include", "--", "sleep", "{0.001,0.002}")
FILE = """\
experiment: nap
parameters: {seconds: [0.001, 0.002]}
workload: {use: command, run: [sleep, "${seconds}"]}
require: [wall.median <= 5 s]
disturbed: include
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "nap.yaml"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_a_first_sentence_and_an_example(command, steelyard):
    said = steelyard(command, "--help")
    assert said.code == 0
    assert "Usage: steelyard" in said.out
    if command not in ("clean",):
        assert re.search(rf"^ *(\S+ .*)?steelyard {command}\b", said.out.partition("Usage:")[2], re.MULTILINE)


def test_a_bare_command_is_measured(steelyard):
    said = steelyard(*SLEEPS)
    assert said.code == 0
    assert "arg1=0.001" in said.out
    assert Path(said.out.splitlines()[-1]).is_file()


@pytest.mark.parametrize(
    ("program", "trial"),
    [(("sleep", "{0.001,0.002}"), r"arg1=0\.00[12], repetition 1"), (("true",), "repetition 1")],
)
def test_status_names_the_last_trial(steelyard, program, trial):
    steelyard("run", "-q", "--disturbed", "include", "--repeat", "1", "--", *program)
    told = steelyard("status").out
    assert re.search(rf"^the last trial, {trial}, ended \S+ ago$", told, re.MULTILINE)


def test_unquoted_braces_get_a_hint(steelyard):
    said = steelyard("run", "-q", "--repeat", "1", "--", "sleep", "0.001", "0.002")
    assert "quote the braces" in said.err.lower()


def test_the_report_comes_last_on_a_line_of_its_own(steelyard, file):
    said = steelyard("run", file)
    last = said.out.splitlines()[-1]
    assert last.endswith("derived/report.html")
    assert Path(last).is_file()
    assert "met in 2 of 2 cells" in said.out


def test_progress_goes_to_stderr_as_plain_lines_when_piped(steelyard, file):
    said = steelyard("run", file)
    assert "12 trials" in said.err
    assert said.err.count("repetition") == 12
    assert "\x1b" not in said.err + said.out


def test_a_requirement_that_is_not_met_is_exit_code_1(steelyard, tmp_path):
    (tmp_path / "x.yaml").write_text(FILE.replace("<= 5 s", "<= 1 us"))
    assert steelyard("run", "-q", "x.yaml").code == 1


def test_undecided_counts_as_it_is_told_to(steelyard, file):
    assert steelyard("run", "-q", "--repeat", "2", file).code == 1
    assert steelyard("run", "-q", "--repeat", "2", "--undecided", "pass", file).code == 0


def test_mistakes_are_exit_code_2_and_nothing_is_run(steelyard, tmp_path):
    (tmp_path / "x.yaml").write_text("experiment: x\nwrkload: 1\norder: sideways\n")
    said = steelyard("run", "x.yaml")
    assert said.code == 2
    assert "x.yaml:2:1  unknown key 'wrkload'; did you mean 'workload'?" in said.err
    assert said.err.rstrip().endswith("problems. Nothing was run.")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run"], "nothing to run"),
        (["run", "nowhere.yaml"], "cannot read nowhere.yaml"),
        (["run", "nap.yaml", "--", "true"], "applies to batch schedulers"),
        (["run", "nap.yaml", "--site", "slrum"], "unknown site 'slrum'"),
        (["rnu"], "did you mean 'run'?"),
        (["nap.yaml"], "did you mean `steelyard run nap.yaml`?"),
        (["show", "nothing"], "unknown run 'nothing'"),
        (["resume", "last"], "no runs in"),
        (["catalog", "fioo"], "did you mean 'fio'?"),
        (["extend", "last"], "nothing to add"),
        (["run", "--", "echo", "{1,1}"], "is listed twice"),
    ],
)
def test_a_wrong_command_says_what_to_do(steelyard, file, words, says):
    said = steelyard(*words)
    assert said.code == 2
    assert says in said.err
    assert "Traceback" not in said.err


def test_plan_shows_everything_and_runs_nothing(steelyard, file, tmp_path):
    said = steelyard("plan", file)
    assert said.code == 0
    assert "2 cells x 6 repetitions = 12 trials, blocked order" in said.out
    assert re.search(r"run +RAW=RAW sleep 0.001", said.out)
    assert not (tmp_path / "store").exists()
    assert steelyard("plan", "--json", file).document["trials"] == [12, 12]
    assert "noise" not in said.out


def test_a_plan_says_how_many_trials_disturbances_may_cost(steelyard, tmp_path):
    (tmp_path / "nap.yaml").write_text(FILE.replace("disturbed: include\n", ""))
    said = steelyard("plan", str(tmp_path / "nap.yaml"))
    assert "2 cells x 6 repetitions = 12 trials" in said.out
    assert "disturbed trials are repeated, at most twice the trials: 24" in said.out


def test_plan_warns_of_a_closed_loop_during_an_outage(steelyard, tmp_path):
    tree = {
        "experiment": "outage",
        "roles": {"server": 1, "client": 1},
        "services": {"db": {"use": "redis", "on": "server", "keep": "run"}},
        "workload": {"use": "redis_benchmark", "on": "client", "to": "db"},
        "timeline": [{"at": "1s", "do": "pause", "service": "db", "node": 0, "length": "1s"}],
    }
    path = tmp_path / "outage.yaml"
    path.write_text(json.dumps(tree))
    said = steelyard("plan", "--site", "local:2", str(path))
    assert "\nwarning: redis_benchmark waits for each answer before its next request, so few" in said.out
    assert len(steelyard("plan", "--site", "local:2", "--json", str(path)).document["warnings"]) == 1


def test_list_and_show(steelyard):
    assert "no runs" in steelyard("list").err
    steelyard(*SLEEPS)
    listed = steelyard("list", "--json").document
    assert [(run["state"], run["trials"], run["failed"]) for run in listed] == [("complete", 12, 0)]
    assert listed[0]["run"] in steelyard("list").out
    shown = steelyard("show", "last")
    assert "arg1=0.001" in shown.out
    assert listed[0]["run"] in shown.err
    assert steelyard("show", "last", "--json").document["run"] == listed[0]["run"]
    assert steelyard("show").out == shown.out, "the newest needs no name"


def test_compare_with_itself_detects_no_difference(steelyard):
    steelyard(*SLEEPS)
    said = steelyard("compare", "last", "last", "--fail-on", "worse")
    assert said.code == 0
    assert "no detectable difference" in said.out
    assert " worse" not in said.out.replace("--fail-on worse", "")


def test_a_metric_of_the_users_own_leads_and_decides_the_gate(steelyard, tmp_path):
    """It is one of five, of which six trials a side can judge one."""
    text = """\
experiment: lat
workload:
  use: command
  run: [echo, "lat: NUMBER"]
  metrics: {lat: {regex: 'lat: (\\d+)', unit: ms, better: lower}}
repeat: 6
disturbed: include
"""
    for name, number in (("fast", 5), ("slow", 15)):
        (tmp_path / f"{name}.yaml").write_text(text.replace("NUMBER", str(number)))
    first = Path(steelyard("run", str(tmp_path / "fast.yaml")).out.splitlines()[-1]).parts[-3]
    said = steelyard("run", str(tmp_path / "slow.yaml"))
    assert re.search(r"^cell +n +lat ", said.out, re.MULTILINE)
    said = steelyard("compare", first, "last", "--fail-on", "worse")
    assert said.code == 1
    assert re.search("lat.*worse", said.out, re.DOTALL)
    assert steelyard("compare", first, first, "--fail-on", "worse").code == 0


GATED = """\
experiment: gated
parameters: {n: LEVELS}
workload:
  use: command
  run: [sh, -c, "echo took: 7; [ ${n} -lt LIMIT ]"]
  metrics: {took: {regex: 'took: (.)', better: lower}}
repeat: TIMES
disturbed: include
"""


def gated(steelyard, levels="[1, 2]", limit="9", times="6"):
    """The id of a run whose program fails from a level on."""
    text = GATED.replace("LEVELS", levels).replace("LIMIT", limit).replace("TIMES", times)
    Path("gated.yaml").write_text(text)
    return Path(steelyard("run", "gated.yaml").out.splitlines()[-1]).parts[-3]


def test_the_gate_does_not_pass_by_silence(steelyard):
    sound = gated(steelyard)
    gate = ("--fail-on", "worse", "--metric", "took")
    for other, kind, reason in (
        (gated(steelyard, limit="2"), "failed", r"n=2: 6 of 6 trials failed in b: "),
        (gated(steelyard, levels="[1, 3]"), "missing", r"n=2: only in a"),
        (gated(steelyard, times="2"), "few", r"n=1: took: n=6 against n=2; at least 6 each are needed"),
    ):
        said = steelyard("compare", sound, other, *gate)
        assert said.code == 1, said
        assert re.search(f"^  {kind}  {reason}", said.err, re.MULTILINE), said.err
        assert f"--allow {kind} accepts these" in said.err
        assert steelyard("compare", sound, other, *gate, "--allow", kind).code == 0
        kinds = {one["kind"] for one in steelyard("compare", sound, other, "--json").document["objections"]}
        assert kind in kinds
    assert steelyard("compare", sound, sound, *gate).code == 0
    said = steelyard("compare", sound, sound, "--allow", "few")
    assert (said.code, "also give --fail-on worse" in said.err) == (2, True)


def test_a_margin_needs_a_gate_and_a_share(steelyard):
    sound = gated(steelyard)
    gate = (sound, sound, "--metric", "took", "--fail-on", "worse")
    assert steelyard("compare", *gate, "--margin", "5%").code == 0
    for words, told in (
        ((*gate, "--margin", "5 parsec"), "5 parsec"),
        ((*gate, "--margin", "150%"), "--margin 150% must be between 0% and 100%"),
        (
            (sound, sound, "--margin", "5%"),
            "--margin needs a gate to apply to; also give --fail-on worse",
        ),
    ):
        said = steelyard("compare", *words)
        assert (said.code, told in said.err) == (2, True), said.err


def test_several_runs_a_side_and_what_else_differs(steelyard):
    runs = [gated(steelyard, limit=str(limit)) for limit in (8, 8, 9, 9)]
    said = steelyard("compare", ",".join(runs[:2]), f"{runs[2]}, {runs[3]}", "--metric", "took")
    assert said.code == 0
    assert (
        "workload.run: sh -c echo took: 7; [ ${n} -lt 8 ] -> sh -c echo took: 7; [ ${n} -lt 9 ]" in said.out
    )
    assert "12, 12" in said.out
    assert "one run per side" not in said.out
    assert steelyard("compare", ",".join(runs[:2]), runs[2], "--json").document["a"] == ",".join(runs[:2])
    said = steelyard("compare", f"{runs[0]},{runs[0]}", runs[1])
    assert (said.code, f"the run {runs[0]} is named twice" in said.err) == (2, True)


def test_runs_of_another_machine_are_compared_when_asked_to(steelyard):
    first, second = gated(steelyard), gated(steelyard)
    path = next(Path().rglob(f"{second}/environment.json"))
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "cpu": {**found["cpu"], "model": "Abacus"}}))
    said = steelyard("compare", first, second)
    assert said.code == 2
    assert re.search(r"CPU: .* -> Abacus", said.err)
    assert "--across compares them anyway" in said.err
    said = steelyard("compare", first, second, "--across")
    assert said.code == 0
    assert "measured in different places, which may explain any difference: CPU: " in said.out


def test_compare_finds_what_is_worse(steelyard):
    """By memory, which does not vary with what else the machine does, as times would."""
    copy = ("dd", "if=/dev/zero", "of=/dev/null", "count=1")
    for size in ("bs=1M", "bs=64M"):
        steelyard("run", "-q", "--disturbed", "include", "--repeat", "8", "--", *copy, size)
    first, second = (run["run"] for run in steelyard("list", "--json").document)
    said = steelyard("compare", first, second, "--metric", "peak_memory", "--fail-on", "worse")
    assert said.code == 1
    assert re.search(r"8, 8 .* worse", said.out)


def test_extend_measures_only_what_is_new(steelyard):
    steelyard(*SLEEPS)
    said = steelyard("extend", "last", "-q", "-p", "arg1=0.003")
    assert said.code == 0
    assert "arg1=0.003" in said.out
    assert steelyard("list", "--json").document[0]["trials"] == 18
    assert steelyard("extend", "last", "-q", "--repeat", "7").code == 0
    assert steelyard("list", "--json").document[0]["trials"] == 21


def test_what_a_person_cancels_is_cancelled_and_no_failure(steelyard, tmp_path):
    text = FILE.replace("[0.001, 0.002]", "[900]").replace("5 s", "1000 s")
    (tmp_path / "long.yaml").write_text(text)
    words = (sys.executable, "-m", "steelyard", "run", "--beside", "long.yaml")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            runs = tmp_path / "store" / "runs"
            assert until(
                lambda: "trial-started" in "".join(one.read_text() for one in runs.glob("*/journal.*"))
            )
            assert steelyard("cancel", "last").code == 0
            _, told = running.communicate()
        finally:
            running.kill()
    assert running.returncode == 130
    assert re.search(r"run \S+ was cancelled by \S+\n`steelyard resume", told)
    assert re.search(r"  cancelled +0 trials$", steelyard("list").out, re.MULTILINE)
    assert " is cancelled: 0 trials done, 0 failed" in steelyard("status", "last").out
    steelyard("report", "last", "--as", "markdown", "-o", "told.md")
    assert "The run was cancelled" in (tmp_path / "told.md").read_text()
    steelyard("export", "last", "--as", "junit", "-o", "all.xml")
    junit = (tmp_path / "all.xml").read_text()
    assert ' failures="0" errors="0" skipped="3"' in junit
    assert "the run was cancelled" in junit


def test_the_plan_tells_of_programs_that_are_not_there(steelyard, tmp_path):
    def absent(levels, *words, options=""):
        workload = f'{{use: command, run: ["${{program}}"]{options}}}'
        text = f"experiment: e\nparameters: {{program: {levels}}}\nworkload: {workload}\n"
        (tmp_path / "p.yaml").write_text(text)
        return steelyard("plan", "--json", *words, "p.yaml").document["absent"]

    (tmp_path / "own").write_text("#!/bin/sh\n")
    (tmp_path / "own").chmod(0o755)
    missing = ["frobnicate", str(tmp_path / "none")]
    levels = ["true", "./in-scratch", str(tmp_path / "own"), *missing]
    assert absent(levels, "--site", "ssh:node1") == []
    assert absent(["./own", "./none"], options=f", cwd: {tmp_path}") == ["./none"]
    assert absent(levels) == missing
    said = f"this machine has no program {', '.join(missing)}: trials that start it will fail"
    assert said in steelyard("plan", "p.yaml").out


def test_the_plan_guesses_a_time_from_an_earlier_run(steelyard, file):
    assert "time     unknown; " in steelyard("plan", file).out
    steelyard("run", "-q", "--repeat", "2", file)
    told = r"^time     about 0:0\d, guessed: 4 trials of run \S+-nap-\S+ took .+s each$"
    assert re.search(told, steelyard("plan", file).out, re.MULTILINE)
    assert steelyard("plan", "--json", file).document["guessed_from"]["trials"] == 4


def test_the_plan_folds_long_scripts(steelyard, tmp_path):
    script = "".join(f"      echo {n}\n" for n in range(30))
    text = f"experiment: long\nworkload:\n  use: command\n  script: |\n{script}"
    (tmp_path / "long.yaml").write_text(text)
    said = steelyard("plan", "long.yaml").out
    assert "echo 5\n… 24 more lines'" in said
    assert "echo 6" not in said
    assert steelyard("plan", "--json", "long.yaml").document["commands"][0]["argv"][-1].count("echo") == 30


def test_resume_says_that_it_goes_on_with_the_copy(steelyard, file):
    steelyard("run", "-q", file)
    assert "has changed" not in steelyard("resume", "-q", "last").err
    Path(file).write_text(FILE.replace("0.001, ", ""))
    said = steelyard("resume", "-q", "last")
    assert f"warning: {file} has changed since this run began; the run continues with its copy, " in said.err
    assert "/experiment.yaml; use `steelyard run" in said.err
    assert (said.code, "seconds=0.001" in said.out) == (0, True)
    Path(file).unlink()
    assert "has changed" not in steelyard("resume", "-q", "last").err


def test_resume_of_a_complete_run_changes_nothing(steelyard):
    steelyard(*SLEEPS)
    assert steelyard("resume", "-q", "last").code == 0
    assert steelyard("list", "--json").document[0]["trials"] == 12


@pytest.mark.parametrize("form", ["csv", "json", "junit", "parquet"])
def test_export(steelyard, file, tmp_path, form):
    steelyard("run", "-q", file)
    target = tmp_path / f"out.{form}"
    said = steelyard("export", "last", "--as", form, "--output", str(target))
    assert said.code == 0
    assert target.stat().st_size > 100


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_report(steelyard, file, tmp_path, form):
    steelyard("run", "-q", file)
    said = steelyard("report", "last", "--as", form)
    assert said.code == 0
    assert "nap" in Path(said.out.splitlines()[-1]).read_text()


def test_rm_removes_a_run(steelyard):
    steelyard(*SLEEPS)
    assert steelyard("rm", "--yes", "last").code == 0
    assert steelyard("list", "--json").document == []


def test_clean_has_nothing_to_do_on_a_good_day(steelyard):
    steelyard(*SLEEPS)
    assert "0 scratch directories removed" in steelyard("clean").out


def test_catalog_lists_and_shows(steelyard):
    assert re.search(r"^ska4 .*\[SKA4\]$", steelyard("catalog").out, re.MULTILINE)
    page = steelyard("catalog", "ska1").out
    assert "outstanding" in page
    assert "write_bandwidth" in page
    assert [entry["name"] for entry in steelyard("catalog", "--covers", "SKA9", "--json").document] == [
        "ska9"
    ]


def test_catalog_explains_a_requirement_and_what_covers_it(steelyard):
    said = steelyard("catalog", "--covers", "SKA4")
    assert said.out.startswith("SKA4: Move data up and down between a fast and a slow tier")
    assert "\nSource: BigStorage, deliverable D1.2 (2017)\n\ncovered by:\nska4 " in said.out
    said = steelyard("catalog", "--covers", "SKA3")
    assert said.code == 0
    assert "Nothing covers SKA3 yet; the nearest that are covered: SKA2, SKA4, SKA1" in said.out
    refused = steelyard("catalog", "--covers", "SKB4")
    assert refused.code == 2
    assert "unknown requirement 'SKB4'; did you mean 'SKA4'?" in refused.err


@pytest.mark.parametrize(("name", "kind"), [("slurm", "site"), ("telemetry", "collector"), ("grow", "event")])
def test_catalog_knows_every_kind(steelyard, name, kind):
    assert re.search(rf"^{name} ", steelyard("catalog").out, re.MULTILINE)
    (entry,) = steelyard("catalog", name, "--json").document
    assert (entry["kind"], entry["name"]) == (kind, name)
    assert entry["options"]
    assert f"{name} ({kind})" in steelyard("catalog", name).out


def test_init_writes_a_file_that_runs(steelyard, tmp_path):
    said = steelyard("init", "-o", "mine.yaml", "--", "sleep", "{0.001,0.002}")
    assert said.code == 0
    assert steelyard("init", "-o", "mine.yaml").code == 2
    assert steelyard("run", "-q", "--disturbed", "include", "--repeat", "1", "mine.yaml").code == 0


def test_doctor_describes_the_scratch(steelyard):
    said = steelyard("doctor", "--scratch", "/dev/shm")
    assert said.code == 0
    assert "tmpfs" in said.out


def test_doctor_tells_which_containers_run(steelyard):
    tried = {one["name"]: one for one in steelyard("doctor", "--json").document["environments"]}
    assert tried.keys() == builtin_names("environments")
    for name, one in tried.items():
        assert one["runs"] is not bool(one["reason"])
        if not all(shutil.which(tool.name) for tool in environment_class(name).needs):
            assert "is not installed" in one["reason"]


def test_doctor_tells_to_which_schedulers_jobs_can_be_submitted(steelyard):
    told = {one["name"]: one["missing"] for one in steelyard("doctor", "--json").document["schedulers"]}
    batch = {name for name in builtin_names("sites") if site_class(name).is_batch}
    assert {"slurm", "htcondor", "hyperqueue"} <= batch
    assert told.keys() == batch
    assert [name for name in site_class("lsf").needs if not shutil.which(name)] == told["lsf"]
    [line] = [one for one in steelyard("doctor").out.splitlines() if one.startswith("schedulers ")]
    assert line.split(maxsplit=1)[1] == ", ".join(name for name in told if not told[name]) or "none" in line


def test_doctor_tells_whether_running_processes_can_be_saved(steelyard):
    [line] = [one for one in steelyard("doctor").out.splitlines() if one.startswith("criu ")]
    said = line.split(maxsplit=1)[1]
    assert said.startswith("saved a running process and restored it in ") or (
        said.startswith("restores no process: ") and "have programs save themselves" in said
    )


def test_schema_is_a_schema(steelyard):
    document = steelyard("schema").document
    assert document["$schema"].startswith("https://json-schema.org/")
    assert "parameters" in document["properties"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(steelyard, shell):
    assert "_STEELYARD_COMPLETE" in steelyard("completion", shell).out


SIX = """
experiment: six
workload:
  use: command
  run: [echo, "in 100 MiB out 25 MiB took 43.99ms at 12.3k drew 300 mW reached 3.5 GFLOP/s"]
  metrics:
    reached: {regex: "reached (.*)", unit: GFLOP/s, better: higher}
    drew: {regex: "drew (.*) reached", unit: W, better: lower}
    took: {regex: "took (.*) at", unit: ms, better: lower}
    answered: {regex: "at (.*) drew", unit: req/s, better: higher}
    in_size: {regex: "in (.*) out", unit: B}
    out_size: {regex: "out (.*) took", unit: B}
metrics: {ratio: {is: out_size / in_size, unit: '1', better: lower}}
require: [reached.median >= 2 GFLOP/s, ratio.median <= 0.3]
disturbed: include
"""


def test_all_metrics_of_a_users_own_lead_and_none_is_cut_in_a_pipe(steelyard, tmp_path):
    (tmp_path / "six.yaml").write_text(SIX)
    said = steelyard("run", "-q", "six.yaml")
    assert said.code == 0, said.err
    head, row = said.out.splitlines()[1:3]
    names = [name for name in head.split() if name not in ("cell", "n", "median", "[95", "%]")]
    assert names[:7] == ["reached", "ratio", "drew", "took", "answered", "in_size", "out_size"]
    figures = ("3.50 GFLOP/s", "0.250", "0.300 W", "44.0 ms", "12300 req/s", "100 MiB", "25.0 MiB")
    assert all(figure in row for figure in figures)
    assert "more metric" not in said.out


def test_show_and_report_give_the_metrics_that_were_asked_for(steelyard, tmp_path):
    (tmp_path / "six.yaml").write_text(SIX)
    steelyard("run", "-q", "six.yaml")
    shown = steelyard("show", "last", "-m", "ratio", "--metric", "*_size")
    head = shown.out.splitlines()[1]
    assert re.findall(r"(\w+)  median", head) == ["ratio", "in_size", "out_size"]
    told = steelyard("show", "last", "--json", "-m", "ratio").document
    assert [metric["name"] for metric in told["metrics"]] == list(told["cells"][0]["metrics"]) == ["ratio"]
    assert "did you mean 'ratio'" in steelyard("show", "last", "-m", "rato").err
    path = steelyard("report", "last", "--as", "markdown", "-m", "ratio").out.strip()
    text = Path(path).read_text()
    assert "| cell | n | ratio |" in text
    assert "10 more metrics measured but not chosen for this report" in text
    whole = Path(steelyard("report", "last", "--as", "markdown").out.strip()).read_text()
    assert "4 more metrics in the tables: wall, user, system, peak_memory." in whole
    assert "Charts of 4 more metrics, wall, user, system, peak_memory:" in whole


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """A Python whose pip fails as it is told to, instead of the real one."""
    program = tmp_path / "python"
    monkeypatch.setattr("sys.executable", str(program))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SSL_CERT_FILE", "/ca.pem")
    monkeypatch.delenv("PIP_CERT", raising=False)

    def fails(saying):
        program.write_text(f'#!/bin/sh\necho "$PIP_CERT: {saying}" >&2\nexit 1\n')
        program.chmod(0o755)

    return fails


def test_install_tells_what_to_do_about_certificates(steelyard, pip):
    pip("certificate verify failed")
    said = steelyard("install", "--yes", "db12")
    assert (said.code, "/ca.pem: certificate verify failed" in said.err) == (3, True)
    assert "Behind a proxy that inspects TLS, set SSL_CERT_FILE to a file" in said.err
    pip("no such version")
    assert "see its own message above" in steelyard("install", "--yes", "db12").err


def test_install_names_another_place_where_a_home_is_read_only(steelyard, pip, monkeypatch, tmp_path):
    pip("it was started")
    monkeypatch.setattr(os, "access", lambda *_: False)
    said = steelyard("install", "--yes", "db12")
    assert f"cannot install tools into {tmp_path}/cache/steelyard/tools/db12" in said.err
    assert "XDG_CACHE_HOME" in said.err
    assert "it was started" not in said.err


def test_install_knows_what_is_needed(steelyard):
    assert steelyard("install", "--dry-run", "fio").code in (0, 3)
    assert "unknown tool, workload or service 'foi'; did you mean 'fio'?" in steelyard("install", "foi").err


def test_what_no_registry_has_is_not_promised(steelyard, monkeypatch, tmp_path):
    """Without names all else is installed; ScyllaDB's server is left to whoever has it."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    everything = steelyard("install", "--dry-run", "--yes")
    assert everything.code == 0, everything.err
    assert "scylla" not in everything.out
    named = steelyard("install", "--dry-run", "scylla")
    assert (named.code, "cannot install scylla" in named.err) == (3, True)
    (tmp_path / "f.yaml").write_text(
        "experiment: x\nroles: {db: 1, load: 1}\nservices: {ring: {use: scylladb, on: db}}\n"
        "workload: {use: command, on: load, run: ['true']}\n"
    )
    told = steelyard("plan", "f.yaml", "--site", "local:2")
    assert "lacks scylla, which no registry has" in told.out + told.err


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("show l", "plain,last"),
        ("catalog red", "plain,redis\nplain,redis_benchmark"),
        ("catalog pau", "pause"),
        ("show last --metric us", "plain,user"),
    ],
)
def test_completion_completes_names(steelyard, monkeypatch, capsys, typed, completed):
    steelyard(*SLEEPS)
    monkeypatch.setenv("_STEELYARD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"steelyard {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    with pytest.raises(SystemExit):
        run([])
    assert completed in capsys.readouterr().out


RUN = ("run", "--store", "s", "--disturbed", "include", "--repeat", "2")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("schema",), 0),
        (("catalog",), 0),
        (("--help",), 0),
        ((*RUN, "-q", "--", "sh", "-c", "exit 0"), 0),
        ((*RUN, "--", "sh", "-c", "exit 4"), 3),
    ],
    ids=["schema", "catalog", "help", "run", "failing run"],
)
def test_a_reader_that_goes_changes_nothing(tmp_path, words, code):
    heard, said = os.pipe()
    os.close(heard)
    done = subprocess.run(
        (sys.executable, "-m", "steelyard", *words),
        cwd=tmp_path,
        stdout=said,
        stderr=said if code else subprocess.PIPE,
        check=False,
    )
    os.close(said)
    assert done.returncode == code
    assert b"Error" not in (done.stderr or b"")
    if "run" in words:
        journal = next((tmp_path / "s" / "runs").glob("*/journal.ndjson")).read_text()
        assert '"state":"complete"' in journal.replace(" ", "")
