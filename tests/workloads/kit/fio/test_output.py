"""fio's output as it really is, and as it might be: torn, empty, garbage, odd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output
from steelyard.model.metric import Reading
from steelyard.workloads.kit.fio.output import load, parse
from steelyard.workloads.kit.fio.reading import FioFigures

DATA = Path(__file__).parents[3] / "data" / "fio"
DONE = Exit(code=0, signal=None, wall=1.0, user=0.1, system=0.1, peak_memory=0, started=0.0)
RECORDED = sorted(path.stem for path in DATA.glob("*.json") if not path.stem.endswith(".meta"))
SMALL = json.loads((DATA / "few-ios.json").read_text())


def recorded(name: str) -> str:
    return (DATA / f"{name}.json").read_text()


def output(stdout: str = "", **raw: Path) -> Output:
    return Output(DONE, stdout, "", {f"{name}.json": path for name, path in raw.items()})


@pytest.mark.parametrize("name", RECORDED)
def test_every_recording_says_where_it_comes_from(name):
    said = json.loads((DATA / f"{name}.meta.json").read_text())
    assert said["tool"] == "fio"
    assert parse(recorded(name)).version == said["version"]
    assert said["command"][0] == "fio"
    assert said["date"].startswith("2026-")


def test_a_job_is_read_in_base_units():
    raw = json.loads(recorded("ska1-run"))["jobs"][0]
    (job,) = parse(recorded("ska1-run")).jobs
    flow = job.flows["write"]
    assert set(job.flows) == {"write"}
    assert flow.bytes == raw["write"]["io_bytes"] == 8 * 2**20
    assert flow.ios == 128
    assert flow.seconds == pytest.approx(raw["write"]["runtime"] / 1000)
    assert flow.total_latency == pytest.approx(raw["write"]["lat_ns"]["mean"] * 128 / 1e9)
    assert job.user == pytest.approx(raw["usr_cpu"] / 100 * raw["job_runtime"] / 1000)
    assert sum(flow.bins.values()) == 128
    assert min(flow.bins) == pytest.approx(raw["write"]["clat_ns"]["min"] / 1e9, rel=1 / 64)
    assert job.levels[8] == pytest.approx(raw["iodepth_level"]["8"] / 100)
    assert set(job.levels) == {1, 2, 4, 8, 16, 32, 64}


def test_options_of_a_job_include_the_global_ones():
    (job,) = parse(recorded("ska1-run")).jobs
    assert job.options["ioengine"] == "libaio"
    assert job.options["rw"] == "write"


def test_warnings_before_the_json_are_passed_over():
    text = recorded("psync-depth")
    assert text.startswith("note: both iodepth")
    assert parse(text).jobs[0].options["iodepth"] == "16"


def test_the_error_of_a_job_is_kept():
    assert parse(recorded("disk-full")).jobs[0].error == 28
    assert parse(recorded("no-direct-io")).jobs[0].error == 22


def test_jobs_that_follow_one_another_are_of_different_groups():
    assert [job.group for job in parse(recorded("ska6-run")).jobs] == [0, 1, 2]
    assert [job.group for job in parse(recorded("ska9-write")).jobs] == [0, 0, 0]


def test_the_file_comes_before_stdout_and_stdout_serves_without_it(tmp_path):
    path = tmp_path / "result"
    path.write_text(recorded("few-ios"))
    assert load(output("garbage", run=path), "run.json").jobs[0].flows["write"].ios == 4
    assert load(output(recorded("few-ios")), "run.json").jobs[0].flows["write"].ios == 4


@pytest.mark.parametrize("text", ["", "   \n", "fio: something went wrong\n"])
def test_output_without_json_is_refused(text):
    with pytest.raises(ParseFailure, match="no JSON"):
        parse(text)


@pytest.mark.parametrize("name", ["ska1-run", "psync-depth", "ska9-read"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_output_is_refused_with_the_place(name, share):
    whole = recorded(name).rstrip()
    with pytest.raises(ParseFailure, match=r"damaged at line \d+, column \d+"):
        parse(whole[: int(len(whole) * share)])


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("jobs",), [], "contains no job"),
        (("jobs",), {}, "is not a list"),
        (("jobs", 0, "write"), None, "write: None is not a mapping"),
        (("jobs", 0, "write", "runtime"), "soon", "'soon' is not a number"),
        (("jobs", 0, "write", "runtime"), -1, "possible size"),
        (("jobs", 0, "write", "runtime"), True, "True is not a number"),
        (("jobs", 0, "write", "total_ios"), 1.5, "1.5 is not a whole number"),
        (("jobs", 0, "write", "io_bytes"), 10**30, "possible size"),
        (("jobs", 0, "write", "clat_ns", "bins"), {"12x": 1}, "'12x' is not a whole number"),
        (("jobs", 0, "iodepth_level"), {">=": 1}, "'' is not a whole number"),
        (("jobs", 0, "job options", "bs"), 4, "4 is not a string"),
        (("fio version",), 3.33, "3.33 is not a string"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(path, value, said):
    with pytest.raises(ParseFailure, match=said):
        parse(json.dumps(_with(SMALL, path, value)))


@pytest.mark.parametrize("key", ["fio version", "jobs"])
def test_a_missing_part_is_named(key):
    with pytest.raises(ParseFailure, match=f"lacks '{key}'"):
        parse(json.dumps({name: value for name, value in SMALL.items() if name != key}))


@pytest.mark.parametrize("text", ['{"jobs": NaN}', '{"jobs": ' + "9" * 5000 + "}", '{"a":' + "[" * 200_000])
def test_hostile_json_is_refused(text):
    with pytest.raises(ParseFailure):
        parse(text)


def test_an_unreadable_file_is_refused(tmp_path):
    with pytest.raises(ParseFailure, match=r"run\.json cannot be read"):
        load(output(run=tmp_path / "absent"), "run.json")
    with pytest.raises(ParseFailure, match=r"run\.json cannot be read"):
        load(output(run=tmp_path), "run.json")


def test_a_giant_file_is_refused_unread(tmp_path):
    path = tmp_path / "giant"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ParseFailure, match="larger than"):
        load(output(run=path), "run.json")


def _reading(text: str) -> Reading:
    return FioFigures(("write",)).reading(parse(text))


def _reads_or_refuses(text: str) -> None:
    try:
        found = _reading(text)
    except ParseFailure:
        return
    assert all(value >= 0 for value in found.values.values())


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(content):
    _reads_or_refuses(content.decode("utf-8", errors="replace"))


@given(st.binary(max_size=400))
def test_any_bytes_after_a_brace_are_read_or_refused(content):
    _reads_or_refuses("{" + content.decode("utf-8", errors="replace"))


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


def _paths(node: Any, before: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [before, *(path for key, value in below for path in _paths(value, (*before, key)))]


def _with(node: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = _with(node[path[0]], path[1:], value)
    return copy


@given(st.sampled_from(_paths(SMALL)), odd)
def test_real_output_with_one_odd_value_is_read_or_refused(path, value):
    _reads_or_refuses(json.dumps(_with(SMALL, path, value)))


@given(st.integers(0, 6000), st.binary(max_size=3))
def test_real_output_with_damaged_bytes_is_read_or_refused(at, instead):
    whole = recorded("few-ios").encode()
    _reads_or_refuses((whole[:at] + instead + whole[at + 1 :]).decode("utf-8", errors="replace"))
