"""`use: fio`: options, commands and metrics; the runs themselves are in test_fio_runs."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import ParseFailure, SpecError
from steelyard.model.command import Exit, Output, Place
from steelyard.spec.load import load
from steelyard.workloads.fio import Fio, FioJobsOptions

DATA = Path(__file__).parents[1] / "data" / "fio"
DONE = Exit(code=0, signal=None, wall=1.0, user=0.1, system=0.1, peak_memory=0, started=0.0)
PLACE = Place(
    PurePosixPath("/scratch/c0"), PurePosixPath("/store/raw"), cores=2, memory=2**30, seed=2**32 + 7
)


def made(**options) -> Fio:
    return Fio(FioJobsOptions.model_validate(options))


def refused(**options) -> str:
    with pytest.raises(ValidationError) as caught:
        FioJobsOptions.model_validate(options)
    return str(caught.value)


def test_the_command_of_one_job():
    command = made(
        job={"rw": "randread", "bs": "4k", "size": "1m", "direct": True, "time_based": None}
    ).command(PLACE)
    assert command.argv[:7] == (
        "fio",
        "--output-format=json+",
        "--output=/store/raw/fio-run.json",
        "--eta=never",
        "--directory=/scratch/c0",
        "--randseed=7",
        "--name=job",
    )
    given = {"--rw=randread", "--bs=4k", "--size=1m", "--direct=1", "--time_based=1"}
    assert len(command.argv) == 12
    assert set(command.argv[7:]) == given
    assert command.cwd == PLACE.scratch


def test_global_options_stand_before_the_jobs():
    argv = (
        made(**{"global": {"bs": "4k"}, "jobs": {"a": {"rw": "read"}, "b": {"rw": "write"}}})
        .command(PLACE)
        .argv
    )
    assert argv[-5:] == ("--bs=4k", "--name=a", "--rw=read", "--name=b", "--rw=write")


def test_a_seed_of_the_users_own_comes_last_and_wins():
    argv = made(job={"randseed": "9"}).command(PLACE).argv
    assert argv.index("--randseed=9") > argv.index("--randseed=7")


def test_a_colon_in_the_scratch_path_is_not_a_second_directory():
    place = Place(PurePosixPath("/a:b"), PurePosixPath("/raw"), cores=1, memory=1, seed=1)
    assert r"--directory=/a\:b" in made(job={"rw": "read"}).command(place).argv


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"job": {"bs": "4k"}}, {"read"}),
        ({"job": {"readwrite": "randwrite"}}, {"write"}),
        ({"job": {"rw": "randrw:4"}}, {"read", "write"}),
        ({"jobs": {"a": {"rw": "trimwrite"}, "b": {"rw": "read"}}}, {"read", "write", "trim"}),
        ({"global": {"rw": "write"}, "jobs": {"a": {"bs": "4k"}}}, {"write"}),
    ],
)
def test_metrics_follow_the_directions_in_use(options, names):
    metrics = made(**options).metrics()
    assert {metric.name.removesuffix("_bandwidth") for metric in metrics if metric.unit == "B/s"} == names
    assert {metric.name for metric in metrics} >= {"cpu_user", "cpu_system"}
    assert all(metric.better == "lower" for metric in metrics if metric.unit == "s")


def test_exactly_one_of_job_and_jobs():
    assert "give either `job:" in refused()
    assert "give either `job:" in refused(job={"rw": "read"}, jobs={"a": {"rw": "read"}})
    assert "give either `job:" in refused(jobs={})


def test_each_mistake_is_told_at_its_own_line(tmp_path):
    """The spec finds the line by the place that pydantic gives."""
    path = tmp_path / "bad.yaml"
    path.write_text(
        "experiment: bad\nworkload:\n  use: fio\n  global: {bs: 4x}\n"
        "  jobs:\n    a: {rww: read}\n    b c: {rw: read}\n    d: {size: 4KiB}\n"
    )
    with pytest.raises(SpecError) as caught:
        load(path)
    said = [str(problem).removeprefix(f"{path}:").partition("  ") for problem in caught.value.problems]
    assert [(place, text) for place, _, text in said] == [
        ("4:16", "bs: '4x' is not a number as fio writes it, for example 4k, 1m or 4k-64k"),
        ("6:9", "unknown key 'rww'; did you mean 'rw'?"),
        ("7:10", "'b c' cannot name a job; use letters, digits, '_', '.' and '-' (and not 'global')"),
        ("8:15", "size: fio counts '4KiB' in units of 1000; write '4K' for units of 1024"),
    ]


def test_the_directory_is_scratch_or_absolute():
    assert made(job={"rw": "read"}).directory() == "scratch"
    assert made(job={"rw": "read"}, directory="/data").directory() == "/data"
    assert made(job={"rw": "read"}, directory="files").directory() == "files", "the name of a service"
    text = "'./data' is not 'scratch', an absolute path or the name of a service"
    assert text in refused(job={"rw": "read"}, directory="./data")


@pytest.mark.parametrize(
    ("job", "size"),
    [
        ({"size": "1g"}, 2**30),
        ({"size": "64m", "numjobs": 4}, 256 * 2**20),
        ({"filesize": "4M-8M", "nrfiles": 3}, 24 * 2**20),
        ({"size": 4096}, 4096),
        ({"size": "50%"}, 0),
        ({}, 0),
    ],
)
def test_disk_as_far_as_the_job_tells(job, size):
    assert made(job={"rw": "write", **job}).disk() == size


@pytest.mark.parametrize(
    ("job", "seconds"),
    [({"runtime": "500ms"}, 0.5), ({"runtime": 10}, 10), ({"timeout": "2m"}, 120), ({}, None)],
)
def test_time_as_far_as_the_job_tells(job, seconds):
    assert made(job={"rw": "write", **job}).seconds() == seconds


def test_a_recorded_run_is_read_by_its_file():
    workload = made(job={"rw": "randrw"})
    reading = workload.parse("run", Output(DONE, "", "", {"fio-run.json": DATA / "fio-mixed.json"}))
    assert reading.facts["engine"] == "psync"
    assert set(reading.values) | set(reading.histograms) == {metric.name for metric in workload.metrics()}


def test_no_output_at_all_is_unreadable():
    with pytest.raises(ParseFailure, match="no JSON"):
        made(job={"rw": "read"}).parse("run", Output(DONE, "", ""))
