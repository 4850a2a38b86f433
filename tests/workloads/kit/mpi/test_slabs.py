"""4-D data through netCDF and HDF5: options, the line that is read, and real ranks."""

from __future__ import annotations

import json
import os
import subprocess
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
from steelyard.workloads.hdf5_bench import Hdf5Bench
from steelyard.workloads.netcdf_bench import NetcdfBench

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
KINDS = [NetcdfBench, Hdf5Bench]
SMALL = {"geometry": "2:4:4:4"}
LINE = {
    "ranks": 2,
    "bytes": 1024,
    "file_bytes": 4096,
    "open": [0.1, 0.2, 0.3],
    "io": [1.0, 1.5, 2.0],
    "close": [0.1, 0.1, 0.1],
    "total": [1.2, 1.8, 2.4],
    "rank_rate": [256, 341.3, 512],
    "rank_rate_total": [213, 284, 427],
    "block": [1, 2, 4, 4],
    "library": "HDF5 1.14.0",
    "mpi": "Open MPI v4.1.4",
}


def make(kind, **options):
    return kind(kind.Options.model_validate(options))


def read(text: str, phase: str = "write", **options):
    return make(Hdf5Bench, **{**SMALL, **options}).parse(phase, Output(EXIT, text, ""))


def test_the_rate_is_that_of_the_slowest_rank():
    values = read(f"noise of a library\n{json.dumps(LINE)}\n").values
    assert values["write_rate"] == 512.0
    assert values["write_rate_total"] == pytest.approx(1024 / 2.4)
    assert (values["write_io_min"], values["write_io_max"]) == (1.0, 2.0)
    assert (values["bytes"], values["file_bytes"]) == (1024, 4096)


def test_sizes_are_told_once_and_facts_in_each_phase():
    both = read(json.dumps(LINE | {"chunk": [1, 1, 2, 4]}), "read", verify=True)
    assert "bytes" not in both.values
    assert both.facts["chunk"] == "1:1:2:4"
    assert both.facts["verified"] is True
    assert "bytes" in read(json.dumps(LINE), "read", operation="read").values
    assert read(json.dumps(LINE)).facts["chunk"] == "contiguous"


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": 1023},
        {"io": [0, 0, 0]},
        {"io": [2.0, 1.0, 3.0]},
        {"io": [1.0, 2.0]},
        {"open": [-1, 0, 1]},
        {"ranks": "2"},
        {"library": None},
        {"block": [1.5, 1, 1, 1]},
    ],
)
def test_damage_is_no_reading(change):
    with pytest.raises(ParseFailure):
        read(json.dumps(LINE | change))


@given(
    st.one_of(
        st.binary(), st.text(), st.dictionaries(st.sampled_from(sorted(LINE)), st.integers()).map(json.dumps)
    )
)
def test_any_output_is_a_reading_or_a_failure(said):
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    with pytest.raises(ParseFailure):
        read(text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"geometry": "0:1:1:1"}, "geometry"),
        ({"geometry": "10:10:10"}, "'10:10:10' is not t:x:y:z"),
        ({"chunk": "1:5:4:4"}, "chunk: x = 5 is more than the 4 of the geometry"),
        ({"block": "1:3:4:4"}, "block: x = 3 does not divide the 4"),
        ({"ranks_along_y": 3}, "ranks_along_y: 3 does not divide the y = 4"),
        ({"unlimited": True, "access": "collective"}, "unlimited: needs chunks"),
        ({"deflate": 1, "chunk": "auto"}, "set `access: collective`"),
        ({"verify": True, "operation": "write"}, "verify: nothing is read"),
        (
            {"block": "1:3:4:4", "chunk": "9:1:1:1"},
            "chunk: t = 9 is more than the 2 of the geometry; block: x",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_option(kind, options, told):
    with pytest.raises(ValidationError) as caught:
        make(kind, **{**SMALL, **options})
    assert told in str(caught.value)


def test_only_netcdf_refuses_independent_ranks_that_extend_a_file():
    options = {**SMALL, "unlimited": True, "chunk": "auto"}
    assert make(Hdf5Bench, **options)
    with pytest.raises(ValidationError, match="unlimited: ranks can extend a file only together"):
        make(NetcdfBench, **options)


def test_a_file_is_written_before_it_is_read():
    place = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=1)
    phases = make(NetcdfBench, operation="read").phases(place)
    assert [(phase.name, phase.measured) for phase in phases] == [("write", False), ("read", True)]
    assert {"operation=read", "directory=/s", "fill=false", "evict=true"} <= set(phases[1].command.argv)


def run_ranks(kind, folder: Path, ranks: int, *changes: str, **options):
    """Its first phase with words of the command line changed, as no option could."""
    for tool in find_missing([*kind.needs, MPIRUN]):
        pytest.skip(f"{tool.name} is not installed")
    place = Place(PurePosixPath(folder), PurePosixPath(folder), 2, 2**30, seed=1)
    command = make(kind, **{**SMALL, **options}).phases(place)[0].command
    launched = mpirun(command, ["127.0.0.1"], ranks).argv + changes
    env = {**mpirun(command, ["127.0.0.1"], ranks).env}
    argv = ["env", *(f"{name}={value}" for name, value in env.items()), *launched]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_that_do_not_divide_the_data_are_told(kind, tmp_path):
    done = run_ranks(kind, tmp_path, 3)
    assert done.returncode == 2
    assert "geometry: x = 4 is not divisible by the 3 ranks along it; change `geometry`" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ranks_that_were_started_otherwise_are_told(tmp_path):
    done = run_ranks(Hdf5Bench, tmp_path, 1, ":", "-n", "1", *Hdf5Bench.needs[0].argv("operation=write"))
    assert done.returncode == 1
    assert "rank 1 on " in done.stderr
    assert "it was started with other options, or with another version" in done.stderr


def test_programs_that_are_no_ranks_of_one_are_told(tmp_path):
    (tmp_path / "ranks.lock").touch()
    done = run_ranks(Hdf5Bench, tmp_path, 1)
    assert done.returncode == 1
    assert "choose one that starts MPI, such as `launcher: mpirun`" in done.stderr


def test_a_damaged_value_is_told_by_its_place(tmp_path):
    """Written by ranks, then damaged, as a disk might do it."""
    assert run_ranks(Hdf5Bench, tmp_path, 2, type="int").returncode == 0
    place = Place(PurePosixPath(tmp_path), PurePosixPath(tmp_path), 2, 2**30, seed=1)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    at = content.index((5).to_bytes(4, "little") + (6).to_bytes(4, "little"))
    path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    argv = make(Hdf5Bench, **SMALL, type="int", verify=True).phases(place)[1].command.argv
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "what it read at t:x:y:z = 0:0:1:1 is not what was written there" in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_none_of_the_librarys_is_told_in_one_sentence(kind, tmp_path):
    run_ranks(kind, tmp_path, 1)
    (tmp_path / "data.nc").write_text("not a file of the library")
    place = Place(PurePosixPath(tmp_path), PurePosixPath(tmp_path), 2, 2**30, seed=1)
    argv = make(kind, **SMALL).phases(place)[1].command.argv
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"cannot open {tmp_path}/data.nc: " in done.stderr
    assert "#000" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_told_in_the_systems_words(kind, tmp_path):
    for tool in find_missing(kind.needs):
        pytest.skip(f"{tool.name} is not installed")
    place = Place(PurePosixPath(tmp_path), PurePosixPath(tmp_path), 2, 2**30, seed=1)
    argv = make(kind, geometry="10:64:64:16").phases(place)[0].command.argv
    mount = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"', str(tmp_path))
    done = subprocess.run([*mount, *argv], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (sentence,) = (line for line in done.stderr.splitlines() if "cannot" in line)
    assert sentence.startswith(f"{kind.needs[0].name}: rank 0 on ")
    assert "No space left on device" in sentence
