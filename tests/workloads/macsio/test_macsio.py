"""`use: macsio`: its own program with real ranks, and a site's MACSio, of which only the log is real."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.launchers import mpirun
from steelyard.model.command import Exit, Output, Place
from steelyard.testing.contract.workloads import MPIRUN
from steelyard.tools.find import find_missing
from steelyard.workloads.macsio import Macsio
from steelyard.workloads.macsio.log import parse_log

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=1)
SITE = {"program": "macsio", "interface": "hdf5", "num_dumps": 2}
LINE = {
    "ranks": 2,
    "files": 1,
    "elapsed": 4.0,
    "summed_rate": 900.0,
    "file_bytes": 2048,
    "library": "HDF5 1.14.0",
    "mpi": "Open MPI v4.1.4",
    "dumps": [{"bytes": 1000, "time": [0.5, 0.75, 1.0]}, {"bytes": 1000, "time": [1.0, 1.5, 2.0]}],
}
FAKE = """
import sys
words = dict(zip(sys.argv[1:], sys.argv[2:]))
with open(words["--log_file_name"], "w") as log:
    for rank in range(2):
        print(f"-------Processor {rank:06}-------", file=log)
        for dump in range(int(words["--num_dumps"])):
            took = 250.0 * (1 + rank)
            line = f"Dump {dump:02} BW:   2.0000 Mi/{took:8.4f} msecs =   4.0000 Mi/sec:::"
            print(f'Info:"macsio_main.c":700:{line}', file=log)
            print(f'Info:"macsio_main.c":705:{line.replace(" BW", " Stat BW")}', file=log)
        print('Info:"macsio_main.c":720:Overall BW:   4.0000 Mi/  1.0000 secs =   4.0000 Mi/sec:::', file=log)
        if rank == 0:
            print('Info:"macsio_main.c":730:Summed  BW:  12.0000 Mi/sec:::', file=log)
            print('Info:"macsio_main.c":735:Total Bytes:   8.0000 Mi; ', end="", file=log)
            print("Last finisher - First starter =   2.0000 mins; BW =  68.2667 Ki/sec:::", file=log)
"""


def make(**options) -> Macsio:
    return Macsio(Macsio.Options.model_validate(options))


def read(text: str, **options):
    return make(**{"num_dumps": 2, **options}).parse("dump", Output(EXIT, text, ""))


def play(folder: Path) -> str:
    """The log that the fake leaves behind for our command line."""
    (phase,) = make(**SITE).phases(PLACE)
    subprocess.run([sys.executable, "-c", FAKE, *phase.command.argv[1:]], cwd=folder, check=True)
    return (folder / "macsio-log.log").read_text()


def test_rates_are_those_of_the_slowest_rank():
    values = read(json.dumps(LINE)).values
    assert values["rate"] == pytest.approx(2000 / 3)
    assert (values["dump_rate_min"], values["dump_rate_max"]) == (500, 1000)
    assert (values["dump_time_min"], values["dump_time_mean"], values["dump_time_max"]) == (1.0, 1.5, 2.0)
    assert (values["rank_time_min"], values["rank_time_mean"]) == (0.5, 1.125)
    assert (values["overall_rate"], values["bytes"]) == (500, 2000)


@pytest.mark.parametrize(
    "change",
    [
        {"dumps": LINE["dumps"][:1]},
        {"dumps": [{"bytes": 1, "time": [0, 0, 0]}] * 2},
        {"dumps": [{"bytes": 1, "time": [2, 1, 1]}] * 2},
        {"elapsed": 0},
        {"ranks": None},
    ],
)
def test_damage_is_no_reading(change):
    with pytest.raises(ParseFailure):
        read(json.dumps(LINE | change))


def test_the_log_of_a_sites_program_is_read(tmp_path):
    text = play(tmp_path)
    workload = make(**SITE)
    (phase,) = workload.phases(PLACE)
    raw = {name: tmp_path / name for name in phase.results if (tmp_path / name).exists()}
    reading = workload.parse("dump", Output(EXIT, "", "", raw))
    assert reading.facts == {"program": "macsio", "ranks": 2}
    assert reading.values["dump_time_max"] == pytest.approx(0.5)
    assert reading.values["rank_time_min"] == pytest.approx(0.25)
    assert reading.values["rate"] == pytest.approx(8 * 2**20)
    assert reading.values["summed_rate"] == pytest.approx(12 * 2**20)
    assert reading.values["elapsed"] == 120
    assert set(reading.values) == {metric.name for metric in workload.metrics()}
    assert parse_log(text, 2).ranks == 2


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Dump 01 BW", "Dump 02 BW", "not the 2 asked for"),
        ("Processor 000001", "Processor 000002", "where 1 is due"),
        ("Summed", "Sum", "lacks 'Summed BW'"),
        ("mins", "moons", "time in 'moons'"),
        ("Processor", "Prozessor", "no line 'Processor 000000'"),
    ],
)
def test_a_log_that_lacks_something_is_no_reading(old, new, told, tmp_path):
    with pytest.raises(ParseFailure, match=told):
        parse_log(play(tmp_path).replace(old, new), 2)


def test_without_its_log_there_is_no_reading():
    with pytest.raises(ParseFailure, match=r"wrote no macsio-log\.log"):
        make(**SITE).parse("dump", Output(EXIT, "", ""))


@given(st.one_of(st.binary().map(lambda said: said.decode(errors="replace")), st.text()))
def test_any_output_is_a_failure(text):
    for parse in (read, lambda log: parse_log(log, 2)):
        with pytest.raises(ParseFailure):
            parse(text)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"interface": "silo"}, "set `program: macsio`"),
        ({"compute_work_intensity": 3}, "builtin has 1 and 2"),
        ({"access": "collective"}, "only hdf5 in SIF writes collectively"),
        ({"program": "bin/macsio"}, "neither builtin, nor macsio, nor the absolute path"),
        ({"program": "macsio"}, "MACSio has no posix"),
        ({**SITE, "sync": False}, "sync: MACSio has no such option"),
        ({"part_size": 4}, "part_size"),
        ({"files": 0}, "files"),
    ],
)
def test_what_cannot_be_is_refused_by_its_option(options, told):
    with pytest.raises(ValidationError) as caught:
        make(**options)
    assert told in str(caught.value)


def test_a_sites_program_is_needed_only_where_it_is_asked_for():
    assert [tool.name for tool in make().tools(None)] == ["steelyard-dump"]
    assert [tool.name for tool in make(**{**SITE, "program": "/opt/macsio"}).tools(None)] == ["/opt/macsio"]


def run_ranks(folder: Path, ranks: int, **options) -> subprocess.CompletedProcess[str]:
    for tool in find_missing([Macsio.needs[0], MPIRUN]):
        pytest.skip(f"{tool.name} is not installed")
    place = Place(PurePosixPath(folder), PurePosixPath(folder), 2, 2**30, seed=1)
    settings = {"part_size": "800B", "vars_per_part": 2, "num_dumps": 2, **options}
    launched = mpirun(make(**settings).phases(place)[0].command, ["127.0.0.1"], ranks)
    argv = ["env", *(f"{name}={value}" for name, value in launched.env.items()), *launched.argv]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)


def test_ranks_of_a_file_write_all_their_parts(tmp_path):
    """3 ranks with 1.5 parts each have 4; a part is two variables of 800 bytes and two axes of 80."""
    done = run_ranks(tmp_path, 3, files=2, avg_num_parts=1.5)
    assert done.returncode == 0, done.stderr
    assert [dump["bytes"] for dump in json.loads(done.stdout)["dumps"]] == [4 * 1760, 4 * 1760]
    sizes = sorted(path.stat().st_size for path in tmp_path.iterdir())
    assert sum(sizes) == json.loads(done.stdout)["file_bytes"] == 2 * 4 * 1760
    assert len(sizes) == 4


def test_more_files_than_ranks_are_told(tmp_path):
    done = run_ranks(tmp_path, 1, files=3)
    assert done.returncode == 2
    assert "files: 3 files are more than the 1 ranks; set `files` to at most 1" in done.stderr


def test_a_directory_that_is_not_there_is_told(tmp_path):
    if find_missing([Macsio.needs[0]]):
        pytest.skip("steelyard-dump is not installed")
    folder = tmp_path / "gone"
    place = Place(PurePosixPath(folder), PurePosixPath(folder), 2, 2**30, seed=1)
    argv = make(num_dumps=1).phases(place)[0].command.argv
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"cannot create {folder}/ranks.lock: No such file or directory" in done.stderr
