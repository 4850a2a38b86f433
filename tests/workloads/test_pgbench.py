"""`use: pgbench`: options, commands, the fold of its log, and damage to it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.analysis.importance import select_primary
from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.workloads.pgbench import Pgbench, PgbenchOptions
from steelyard.workloads.pgbench import output as result

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
FACTS = {"servers": "10.0.0.1:7000,10.0.0.2:7000", "user": "steelyard", "database": "postgres"}
TO = Endpoint("10.0.0.1", 7000, FACTS, "s3cret")
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, 5, to=TO)
RECORDED = Path(__file__).parents[1] / "data" / "contract" / "pgbench" / "0" / "run"


def made(**options) -> Pgbench:
    return Pgbench(PgbenchOptions.model_validate(options))


def output(tmp_path: Path, *, old: str = "", new: str = "", fold: str | None = None) -> Output:
    """What was recorded, with a change."""
    path = tmp_path / "latencies.txt"
    path.write_text((RECORDED / "raw" / "latencies.txt").read_text() if fold is None else fold)
    text = (RECORDED / "stdout").read_text()
    assert old in text
    return Output(EXIT, text.replace(old, new) if old else text, "", {path.name: path})


def test_all_options_reach_the_command_line():
    options = {"mode": "select-only", "scale": 3, "clients": 4, "threads": 2, "duration": "7s"}
    first, run = made(**options, rate=50.5, protocol="prepared").phases(PLACE)
    assert "--scale=3" in first.command.argv
    words = " ".join(run.command.argv)
    for part in (
        "--builtin=select-only",
        "--client=4",
        "--jobs=2",
        "--time=7",
        "--rate=50.5",
        "--protocol=prepared",
        "--random-seed=5",
    ):
        assert part in words
    assert "--rate" not in " ".join(made().phases(PLACE)[1].command.argv)


def test_with_a_rate_the_latency_counts_from_when_a_transaction_was_due_and_comes_first():
    assert [metric.name for metric in select_primary(made().metrics())][:3] == [
        "tps",
        "latency_p50",
        "latency_p99",
    ]
    paced = made(rate=50).metrics()
    assert [metric.name for metric in select_primary(paced)][:3] == ["latency_p50", "latency_p99", "tps"]
    assert "from its scheduled start" in paced[0].about
    assert {metric.name for metric in paced} == {metric.name for metric in made().metrics()}


def test_the_server_and_its_password_come_by_the_variables_of_libpq():
    for phase in made().phases(PLACE):
        env = phase.command.env
        assert (env["PGHOST"], env["PGPORT"], env["PGUSER"]) == ("10.0.0.1", "7000", "steelyard")
        assert phase.command.secrets == {"PGPASSWORD": "s3cret"}
        assert "s3cret" not in f"{phase.command} {phase.command.argv} {env}"
        assert not {"PGSSLMODE", "AUTHORITY"} & env.keys()


def test_servers_that_are_reached_by_tls_must_be_of_the_authority_that_the_service_tells():
    for phase in made().phases(replace(PLACE, to=replace(TO, authority="PEM"))):
        env = phase.command.env
        assert (env["PGSSLMODE"], env["PGSSLROOTCERT"]) == ("verify-full", "authority.pem")
        assert env["AUTHORITY"] == "PEM"
    own = made(server="far", user="me", database="mine").phases(replace(PLACE, to=None))[1].command
    assert (own.env["PGHOST"], own.env["PGUSER"], own.env["PGDATABASE"]) == ("far", "me", "mine")
    assert own.secrets == {}


def test_only_the_first_copy_makes_the_tables_and_all_go_to_the_primary():
    first, run = made().phases(replace(PLACE, copy=1))
    assert first.command.argv == ("true",)
    assert run.command.env["PGHOST"] == "10.0.0.1"


def test_copies_that_only_read_may_be_spread_and_the_tables_are_made_on_the_primary():
    workload = made(mode="select-only", spread=True)
    assert workload.phases(replace(PLACE, copy=1))[1].command.env["PGHOST"] == "10.0.0.2"
    first = workload.phases(PLACE)[0].command
    assert (first.env["PGHOST"], first.env["AWAIT"]) == ("10.0.0.1", "replicas")
    assert made().phases(PLACE)[0].command.env["AWAIT"] == ""


def test_without_a_server_it_is_a_failure_that_says_what_to_do():
    for phase in made().phases(replace(PLACE, to=None)):
        assert "name a service with 'to:'" in phase.command.argv[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threads": 3, "clients": 2}, "3 exceeds clients, 2"),
        ({"duration": "500ms"}, "whole number of seconds"),
        ({"spread": True}, "use `mode: select-only`"),
        ({"database": "a b"}, "match pattern"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        made(**options)


def test_no_transaction_is_lost_in_the_fold_and_none_moves_by_more_than_a_bin(tmp_path):
    times = [1, 2, 3, 999, 1000, 1023, 1024, 123456]
    rows = [f"0 {n} {us} 0 1795222225 27038" for n, us in enumerate(times)]
    (tmp_path / "transactions.77").write_text("\n".join(rows[:4]) + "\n0 9 failed 0 1795222225 27038\n")
    (tmp_path / "transactions.77.1").write_text("\n".join(f"{row} 69" for row in rows[4:]) + "\n")
    env = {"OUT": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run(("sh", "-eu", "-c", result.FOLD), cwd=tmp_path, env=env, check=True)
    assert not list(tmp_path.glob("transactions.*"))
    lines = (tmp_path / "latencies.txt").read_text().splitlines()
    assert lines[-1] == "all 8"
    found = sorted(float(line.split()[0]) for line in lines[:-1] for _ in range(int(line.split()[1])))
    assert found == pytest.approx(times, rel=1 / 64)


def test_what_was_recorded_is_read(tmp_path):
    reading = made().parse("run", output(tmp_path))
    assert reading.facts["version"].startswith("15.")
    assert sum(reading.histograms["latency"].values()) == reading.facts["transactions"]
    assert reading.values["latency_p50"] <= reading.values["latency_p99"]
    mean = (
        sum(value * n for value, n in reading.histograms["latency"].items()) / reading.facts["transactions"]
    )
    assert reading.values["latency_mean"] == pytest.approx(mean, rel=0.03)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("number of transactions actually processed: ", "number of transactions actually processed: 9"),
        ("tps = ", "tpm = "),
        ("latency stddev", "latency"),
        ("number of failed transactions", "number of transactions"),
        ("initial connection time", "time"),
        ("latency average", "latency"),
    ],
)
def test_damage_is_no_reading(old, new, tmp_path):
    with pytest.raises(ParseFailure):
        made().parse("run", output(tmp_path, old=old, new=new))


def test_a_time_in_which_no_transaction_ended_is_too_short(tmp_path):
    said = "number of transactions actually processed: 0\n"
    with pytest.raises(NothingMeasured, match="no transaction ended in the time of the trial: give a longer"):
        made().parse("run", replace(output(tmp_path, fold="all 0\n"), stdout=said))


@pytest.mark.parametrize("fold", ["", "all 0\n", "1000 5\n", "1000 x\nall 5\n", "1000 5\nall 5\n"])
def test_damage_to_the_fold_is_no_reading(fold, tmp_path):
    with pytest.raises(ParseFailure):
        made().parse("run", output(tmp_path, fold=fold))


def test_each_second_is_a_sample_with_the_time_of_its_end():
    line = "progress: 1795222226.5 s, 3454.8 tps, lat 0.575 ms stddev 0.588, 2 failed\n"
    later = line.replace("226.5", "227.75").replace("2 failed", "0 failed, 1 retried")
    first, second = made().series("run", Output(EXIT, "", f"pgbench: hello\n{line}{later}progress: 1795"))
    assert (first.at, first.length, second.at, second.length) == (1795222226.5, 1.0, 1795222227.75, 1.25)
    assert first.values == pytest.approx(
        {"tps": 3454.8, "latency_mean": 575e-6, "latency_stddev": 588e-6, "failed_transactions": 2}
    )
    assert made().series("run", Output(EXIT, "", "")) == ()
    assert set(first.values) <= {metric.name for metric in made().metrics()}


def test_the_recorded_run_has_its_seconds():
    text = (RECORDED / "stderr").read_text()
    assert made().series("run", Output(EXIT, "", text))
