"""rados_bench: what is started, where the key goes, and how its output is read."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.command import Command, Endpoint, Exit, Output, Place
from steelyard.workloads.rados_bench import RadosBench, RadosBenchOptions
from steelyard.workloads.rados_bench.output import parse_output, parse_series

KEY = "AQAAAAAAAAAAABAA" + "x" * 20 + "=="
FACTS = {"protocol": "rados", "servers": "10.0.0.1:3300,10.0.0.2:3300", "user": "steelyard", "pool": "data"}
WRITE = {
    "datas": [
        {"sec": "0", "finished": "0"},
        {"sec": "1", "finished": "100"},
        {"sec": "2", "finished": "300"},
    ],
    "total_time_run": "2.5",
    "total_writes_made": "400",
    "write_size": "65536",
    "object_size": "131072",
    "bandwidth": "10.0",
    "stddev_bandwidth": "1.0",
    "max_bandwidth": "12.5",
    "min_bandwidth": "6.25",
    "average_iops": "160",
    "stddev_iops": "942056368",
    "max_iops": "200",
    "min_iops": "100",
    "average_latency": "0.009",
    "stddev_latency": "0.013",
    "max_latency": "0.113",
    "min_latency": "0.002",
}


def place(to: Endpoint | None = None, copy: int = 0) -> Place:
    folder = PurePosixPath("/s")
    return Place(folder, folder / "raw", 1, 2**30, seed=7, to=to, copy=copy)


def service(**facts: str) -> Endpoint:
    return Endpoint("10.0.0.1", 3300, {**FACTS, **facts}, password=KEY)


def commands(to: Endpoint | None = None, copy: int = 0, **options: Any) -> dict[str, Command]:
    workload = RadosBench(RadosBenchOptions(**options))
    return {phase.name: phase.command for phase in workload.phases(place(to=to, copy=copy))}


def output(said: object, *, before: str = "hints = 1\n") -> Output:
    text = said if isinstance(said, str) else json.dumps(said)
    return Output(Exit(0, None, 3.0, 0.0, 0.0, None, 1000.0), before + text, "")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"duration": "1.5s"}, "duration: 1.5s is not a whole number"),
        ({"patience": "0.5s"}, "patience: 0.5s is not a whole number"),
        ({"op_size": "5000B"}, "op_size: 5000B is not a multiple of 4 KiB"),
        ({"op_size": "256MiB"}, "op_size: 256MiB is not a multiple of 4 KiB up to 128 MiB"),
        ({"object_size": "1MiB"}, "object_size: 1MiB is not a multiple of op_size"),
        ({"reads": ["seq", "seq"]}, "give each kind of read only once"),
        ({"pool": "-f"}, "pattern"),
    ],
)
def test_wrong_options_are_refused_with_a_reason(options, says):
    with pytest.raises(ValidationError) as failure:
        RadosBenchOptions(**options)
    assert says in str(failure.value)


def test_it_writes_reads_what_it_wrote_and_removes_it():
    found = commands(service(), copy=2, duration="3s", threads=8, op_size="64KiB", reads=["rand", "seq"])
    assert list(found) == ["write", "rand", "seq", "cleanup"]
    words = [command.argv[5:] for command in found.values()]
    common = ("--id", "steelyard", "-p", "data")
    name = ("--run-name", "steelyard-7-2")
    sizes = ("-b", "65536", "-O", "65536", "--no-cleanup")
    assert words[0] == (*common, "bench", "3", "write", "-t", "8", *sizes, *name, "-f", "json")
    assert words[1] == (*common, "bench", "3", "rand", "-t", "8", *name, "-f", "json")
    assert words[3] == (*common, "cleanup", *name)


def test_the_key_is_a_secret_and_in_no_argument():
    for command in commands(service()).values():
        assert command.secrets == {"KEY": KEY}
        assert KEY not in str((command.argv, command.env, command.stdin))
        assert "ms_client_mode = crc secure" in command.env["CONF"]
    encrypted = commands(service(tls="true"))["write"].env["CONF"]
    assert "ms_client_mode = secure\nms_mon_client_mode = secure\n" in encrypted
    assert "mon_host = [v2:10.0.0.1:3300],[v2:10.0.0.2:3300]\n" in encrypted


def test_a_running_cluster_is_reached_by_its_own_files():
    write = commands(pool="mine", user="me", conf="/etc/ceph/other.conf", patience="9s")["write"]
    assert write.argv[5:11] == ("-c", "/etc/ceph/other.conf", "--id", "me", "-p", "mine")
    assert not write.secrets
    assert write.env["CEPH_ARGS"] == "--rados_osd_op_timeout=9"


@pytest.mark.parametrize(
    ("to", "says"), [(None, "has no pool: name a service"), (service(protocol="s3"), "`face: rados`")]
)
def test_a_client_that_cannot_work_says_why(to, says):
    command = commands(to)["write"]
    ended = subprocess.run(command.argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert says in ended.stderr


def stand_in(folder: Path, name: str, script: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def run(command: Command, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **command.variables, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(command.argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_key_goes_to_a_file_that_nobody_else_reads_and_not_to_the_program(tmp_path):
    stand_in(tmp_path, "rados", 'stat -c %a keyring ceph.conf; echo "${KEY-no key}"; echo "$@"')
    ended = run(commands(service())["write"], tmp_path)
    assert ended.stdout.startswith("600\n600\nno key\n-c ceph.conf --id steelyard -p data bench 10 write")
    assert (tmp_path / "keyring").read_text() == f"[client.steelyard]\n\tkey = {KEY}\n"


def test_a_pool_without_space_is_named_as_such(tmp_path):
    stand_in(tmp_path, "rados", "echo 'error 110: (110) Connection timed out' >&2; exit 1")
    stand_in(
        tmp_path, "ceph", "echo '[ERR] MGR_MODULE_ERROR: x'; echo \"    pool 'data' is full (no quota)\""
    )
    ended = run(commands(service())["write"], tmp_path)
    assert ended.returncode == 1
    assert "No space left on device: a pool or a storage daemon is full" in ended.stderr
    assert "the cluster's health:     pool 'data' is full" in ended.stderr
    assert "MGR_MODULE" not in ended.stderr
    stand_in(tmp_path, "ceph", "echo 'HEALTH_WARN 1 osds down'")
    ended = run(commands(service())["write"], tmp_path)
    assert "No space left" not in ended.stderr
    assert "1 osds down" in ended.stderr


def test_its_figures_are_in_our_units():
    values = parse_output("write", output(WRITE)).values
    assert values["write_bandwidth"] == 10 * 2**20
    assert values["write_iops"] == 160
    assert values["write_iops_stddev"] == 16, "from the bandwidth's: the tool prints a random number"
    assert values["write_latency_mean"] == 0.009
    assert set(values) == {metric.name for metric in RadosBench(RadosBenchOptions(reads=())).metrics()}


def test_a_phase_without_one_whole_second_has_the_extremes_of_all_of_it():
    """Seen on a busy machine: the smallest is then what its search begins with."""
    unset = {"min_bandwidth": f"{1.7976931348623157e308:f}", "max_bandwidth": "0.000000"}
    unset |= {"min_iops": "2147483647", "max_iops": "0", "stddev_bandwidth": "0.000000"}
    values = parse_output("write", output({**WRITE, **unset})).values
    assert values["write_bandwidth_min"] == values["write_bandwidth_max"] == values["write_bandwidth"]
    assert values["write_iops_min"] == values["write_iops_max"] == values["write_iops"]


def test_each_second_is_a_sample():
    first, second = parse_series("write", output(WRITE))
    assert (first.at, second.at, second.length) == (1001.5, 1002.5, 1.0)
    assert second.values == {"write_iops": 200, "write_bandwidth": 200 * 65536}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bandwidth": "fast"}, "'fast' is not a number"),
        ({"bandwidth": 10}, "is not a string"),
        ({"max_latency": "nan"}, "not a number of a possible size"),
        ({"min_iops": "-1"}, "not a number of a possible size"),
    ],
)
def test_a_damaged_summary_is_no_figure(changes, says):
    with pytest.raises(ParseFailure, match=says):
        parse_output("write", output({**WRITE, **changes}))


def test_a_phase_without_an_operation_has_measured_nothing():
    with pytest.raises(NothingMeasured, match="not one operation of the phase write was completed"):
        parse_output("write", output({**WRITE, "total_writes_made": "0"}))


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["1", "0", "1e308"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*WRITE, "sec", "finished"]), inner),
)


@given(st.text() | VALUES.map(json.dumps), st.sampled_from(["write", "seq"]))
def test_any_output_is_a_reading_or_a_failure(text, phase):
    for parse in (parse_output, parse_series):
        with contextlib.suppress(ParseFailure):
            parse(phase, output(text))
