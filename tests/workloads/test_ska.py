"""SKAbench: what is refused and why, and the commands that are made. The runs are in test_fio_runs."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard.model.command import Exit, Output, Place
from steelyard.plugins import find
from steelyard.workloads.base import Workload

DATA = Path(__file__).parents[1] / "data" / "fio"
NAMES = ("ska1", "ska2", "ska4", "ska5", "ska6", "ska8", "ska9")
DONE = Exit(code=0, signal=None, wall=1.0, user=0.1, system=0.1, peak_memory=0, started=0.0)
PLACE = Place(PurePosixPath("/scratch"), PurePosixPath("/raw"), cores=2, memory=2**30, seed=7)
MIB = 2**20
_UP = {"direction": "up", "access": "random"}


def made(name: str, **options: Any) -> Workload[Any]:
    kind = find("workloads", name, Workload)
    return kind(kind.Options.model_validate(options))


def refused(name: str, **options: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        made(name, **options)
    (entry,) = caught.value.errors()
    return entry["msg"]


def phases(name: str, **options: Any) -> dict[str, list[str]]:
    return {phase.name: list(phase.command.argv[1:]) for phase in made(name, **options).phases(PLACE)}


def parsed(name: str, phase: str, recording: str, **options: Any) -> Any:
    output = Output(DONE, "", "", {f"fio-{phase}.json": DATA / f"{recording}.json"})
    return made(name, **options).parse(phase, output)


@pytest.mark.parametrize("name", NAMES)
def test_the_defaults_are_valid_and_cover_the_requirement(name):
    workload = made(name)
    assert workload.covers == (name.upper(),)
    assert workload.disk() > 0
    assert "BigStorage D1.2" in workload.__doc__
    assert all(phase.command.argv[0] == "fio" for phase in workload.phases(PLACE))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_makes_the_same_commands(name):
    assert made(name).phases(PLACE) == made(name).phases(PLACE)
    assert all("--randseed=7" in argv for argv in phases(name).values())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_outside_scratch_and_raw_is_named(name):
    for argv in phases(name).values():
        slashes = [word for word in argv if "/" in word]
        assert all(word.startswith(("--directory=/scratch", "--output=/raw/fio-")) for word in slashes)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"ska8"}))
def test_io_is_direct_libaio_unless_asked_otherwise(name):
    measured = [phase for phase in made(name).phases(PLACE) if phase.measured]
    assert measured
    for phase in measured:
        assert "--ioengine=libaio" in phase.command.argv
        assert "--direct=1" in phase.command.argv


def test_one_process_with_many_streams_but_for_ska9():
    assert "--thread=1" in phases("ska1")["run"]
    assert "--thread=0" in phases("ska9")["write"]
    assert "--numjobs=10" in phases("ska9")["write"]


def test_ska1_says_how_few_blocks_a_file_holds_and_what_to_change():
    said = refused("ska1", max_file_size="1GiB", outstanding=1000)
    assert "1 file(s) of 1GiB hold 256 blocks of 4MiB, fewer than the 1000 I/Os to be outstanding" in said
    assert "raise max_file_size to 4000MiB, use more files, or lower outstanding" in said
    assert made("ska1", max_file_size="4000MiB", outstanding=1000)
    assert made("ska1", max_file_size="1GiB", files=4, outstanding=1000)


def test_the_smallest_draw_must_hold_enough():
    said = refused("ska1", min_file_size="4MiB", outstanding=2)
    assert "1 file(s) of 4MiB hold 1 blocks" in said
    assert "raise min_file_size to 8MiB" in said
    assert "--filesize=8388608-1073741824" in phases("ska1", min_file_size="8MiB", outstanding=2)["run"]
    assert "min_file_size: 2GiB is greater than max_file_size: 1GiB" in refused("ska1", min_file_size="2GiB")


def test_every_file_has_the_same_size_unless_a_range_is_given():
    assert "--filesize=1073741824" in phases("ska1")["run"]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("ska1", {"outstanding": 0}, "greater than or equal to 1"),
        ("ska1", {"max_file_size": 64}, "64 has no unit"),
        ("ska1", {"engine": "net"}, "Input should be 'libaio'"),
        ("ska1", {"block": "1000B", "outstanding": 1}, "not a multiple of 512"),
        ("ska1", {"block": "0B", "outstanding": 1}, "hold 0 blocks"),
        ("ska1", {"engine": "io_uring", "outstanding": 12}, "io_uring rounds 12 to 16; use a power of two"),
        ("ska1", {"duration": "1ms"}, "not between 10ms and 30d"),
        ("ska1", {"duration": "0s"}, "not between 10ms and 30d"),
        ("ska2", {"warm": True}, "add direct: false"),
        ("ska2", {"max_file_size": "100MiB"}, "raise max_file_size to 400MiB"),
        ("ska4", {"lower_tier_write_rate": "0B/s"}, "at least 1 byte per second"),
        ("ska4", {"outstanding": 1000}, "raise large_file_size to 136MiB"),
        ("ska4", {**_UP, "small_file_size": "1KiB"}, "raise small_file_size to 4KiB"),
        ("ska5", {"max_file_size": "256MiB"}, "1 file(s) of 256MiB hold 64 blocks of 4MiB"),
        ("ska6", {"size": "512MiB"}, "raise size to 1GiB"),
        ("ska6", {"size": "1025MiB"}, "not a whole number of blocks"),
        ("ska8", {"file_size": "64KiB"}, "makes 0 reads of 4KiB at stride 17, but 1 are needed"),
        ("ska8", {"file_size": "256KiB", "prefetch": "ahead"}, "at stride 17, but 8 are needed"),
        ("ska8", {"block": "0B"}, "makes 0 reads"),
        ("ska9", {"outstanding": 64}, "3 file(s) of 20MiB hold 15 blocks"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_once(name, options, said):
    assert said in refused(name, **options)


def test_ska1_buffered_writes_end_with_an_fsync():
    assert "--end_fsync=1" in phases("ska1", direct=False)["run"]
    assert "--end_fsync=0" in phases("ska1")["run"]


def test_ska1_runs_through_its_data_once_or_for_a_time():
    assert not [word for word in phases("ska1")["run"] if "time" in word]
    timed = phases("ska1", duration="1.5s")["run"]
    assert "--time_based=1" in timed
    assert "--runtime=1500ms" in timed
    assert made("ska1").seconds() is None
    assert made("ska1", duration="5s").seconds() == pytest.approx(5, abs=1)


def test_ska2_measures_both_accesses_one_after_the_other():
    stages = made("ska2").phases(PLACE)
    assert [(stage.name, stage.measured) for stage in stages] == [
        ("prepare-sequential", False),
        ("sequential", True),
        ("prepare-random", False),
        ("random", True),
    ]
    assert "--rw=read" in stages[1].command.argv
    assert "--bs=4194304" in stages[1].command.argv
    assert "--rw=randread" in stages[3].command.argv
    assert "--bs=4096" in stages[3].command.argv
    assert made("ska2").disk() == 11 * 400 * MIB


def test_ska2_alone_and_warm():
    alone = phases("ska2", access="random", direct=False, warm=True)
    assert list(alone) == ["prepare-random", "random"]
    assert "--pre_read=1" in alone["random"]


def test_ska2_figures_bear_their_access():
    values = parsed("ska2", "random", "ska2-random").values
    assert {"random_read_bandwidth", "random_read_latency_p99", "random_cpu_system"} <= set(values)


@pytest.mark.parametrize(
    ("options", "jobs"),
    [
        ({"direction": "down"}, ["--rw=write"]),
        ({"direction": "up"}, ["--rw=read"]),
        ({"direction": "up", "access": "random"}, ["--rw=randread"]),
        ({"direction": "down", "both_ends": True}, ["--rw=read", "--rw=write"]),
        ({"direction": "down", "access": "random", "both_ends": True}, ["--rw=randread", "--rw=write"]),
        ({"direction": "up", "access": "random", "both_ends": True}, ["--rw=randread", "--rw=write"]),
    ],
)
def test_ska4_moves_in_the_direction_and_access_that_are_asked_for(options, jobs):
    argv = phases("ska4", **options)["move"]
    assert [word for word in argv if word.startswith("--rw=")] == jobs
    rate = 200 * MIB if options["direction"] == "down" else 10 * MIB
    assert f"--rate={rate}" in argv


def test_ska4_lays_out_only_what_it_reads():
    assert list(phases("ska4")) == ["move"]
    assert list(phases("ska4", direction="up")) == ["prepare", "move"]
    assert made("ska4").disk() == 30 * 100 * MIB
    assert made("ska4", direction="up", access="random").disk() == 30 * 10 * MIB
    assert made("ska4", direction="up", access="random").seconds() == pytest.approx(30, abs=1)


def test_ska4_tells_how_near_the_emulated_rate_came():
    options = {"direction": "up", "access": "random", "both_ends": True}
    reading = parsed("ska4", "move", "ska4-move", **options)
    assert reading.values["rate_reached"] == reading.values["read_bandwidth"] / (10 * MIB)
    assert reading.values["rate_reached"] == pytest.approx(1, abs=0.1)
    assert reading.marks == ()


def test_ska5_reads_the_files_that_it_wrote():
    stages = phases("ska5", access="random")
    assert list(stages) == ["write", "read"]
    name = "--filename_format=data.$jobnum.$filenum"
    assert name in stages["write"]
    assert name in stages["read"]
    assert not [word for word in stages["read"] if word.startswith("--filesize")]
    assert "--rw=randread" in stages["read"]


def test_ska6_alternates_between_the_buffers_and_syncs_each_checkpoint():
    argv = phases("ska6", size="64MiB", outstanding=16, checkpoints=3)["run"]
    assert [word for word in argv if word.startswith("--offset")] == [
        "--offset=0",
        "--offset=67108864",
        "--offset=0",
    ]
    assert argv.count("--stonewall=1") == 3
    assert argv.count("--end_fsync=1") == 1
    assert argv.index("--end_fsync=1") < argv.index("--name=checkpoint0")
    assert "--filesize=134217728" in argv
    assert made("ska6", size="64MiB", outstanding=16).disk() == 128 * MIB


def test_ska6_tells_how_long_a_checkpoint_takes():
    values = parsed("ska6", "run", "ska6-run").values
    assert values["checkpoint_time_worst"] >= values["checkpoint_time"] > 0
    assert 3 * values["checkpoint_time"] * values["write_bandwidth"] == pytest.approx(6 * MIB)


def test_ska8_skips_between_reads_and_hints_at_its_pattern():
    argv = phases("ska8", block="64KiB", stride=4, file_size="16MiB")["read"]
    assert {"--zonesize=65536", "--zoneskip=196608", "--io_size=4194304", "--fadvise_hint=random"} <= set(
        argv
    )
    assert "--fadvise_hint=0" in phases("ska8", prefetch="kernel")["read"]
    assert "--zoneskip=0" in phases("ska8", stride=1)["read"]


def test_ska8_counts_the_reader_not_its_helpers():
    reading = parsed("ska8", "read", "ska8-read", prefetch="ahead")
    assert reading.facts["jobs"] == 1
    assert reading.facts["ios"] == 256


def test_ska9_writes_reads_or_both():
    assert list(phases("ska9")) == ["write", "read"]
    assert list(phases("ska9", operation="write")) == ["write"]
    assert list(phases("ska9", operation="read")) == ["prepare", "read"]
    assert "--numjobs=10" in phases("ska9", operation="read")["prepare"]
    assert made("ska9").disk() == 10 * 3 * 20 * MIB


def test_ska9_adds_its_processes_up():
    reading = parsed("ska9", "write", "ska9-write")
    assert reading.facts["jobs"] == 3
    assert {"write_bandwidth", "write_cpu_user"} <= set(reading.values)
