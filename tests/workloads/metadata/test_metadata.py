"""`use: metadata`: options, phases, ranks' summaries merged, and the program run for real."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.model.command import Command, Exit, Output, Place
from steelyard.tools.bundled import is_built
from steelyard.workloads.kit.load.options import LOAD
from steelyard.workloads.metadata import Metadata, MetadataOptions
from steelyard.workloads.metadata.output import read_summary

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
OPERATIONS = ["create", "stat", "rename", "list", "remove"]
RECORDED = Path(__file__).parents[2] / "data" / "contract" / "metadata" / "0"


def made(**options) -> Metadata:
    return Metadata(MetadataOptions.model_validate(options))


def place(folder: Path | str = "/s") -> Place:
    return Place(PurePosixPath(folder), PurePosixPath("/r"), 2, 2**30, seed=7)


def recorded(operation: str = "create", **change) -> dict:
    return json.loads((RECORDED / operation / "stdout").read_text()) | change


def read(*lines: dict, operation: str = "create", **options):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return made(files=200, directories=2, **options).parse(operation, Output(EXIT, f"a banner\n{text}", ""))


def run(command: Command, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The program itself, in place of the one that a run brings to its hosts."""
    program = Path(LOAD.bundled) / f"{LOAD.name}-{os.uname().machine}"
    if not is_built(LOAD) or not program.exists():
        pytest.skip("steelyard-load is not built; `make probe` builds it")
    argv = [program, *command.argv[command.argv.index("metadata") :]]
    env = {**os.environ, **variables}
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_each_operation_is_a_phase_after_the_directories():
    phases = made().phases(place())
    assert [phase.name for phase in phases] == ["prepare", *OPERATIONS]
    assert [phase.measured for phase in phases] == [False, *[True] * 5]


def test_the_job_is_an_argument_since_ranks_have_no_input():
    command = made(files=7, directories=3, file_size="1KiB").phases(place())[1].command
    job = json.loads(command.argv[-1])
    assert (job["operation"], job["files"], job["size"]) == ("create", 7, 1024)
    assert command.stdin is None


def test_rates_and_histograms_of_ranks_add_up():
    first = recorded(rank=0, ranks=2, seconds=1.0)
    one, both = (
        read(recorded(seconds=1.0)),
        read(first, recorded(rank=1, ranks=2, seconds=2.0)),
    )
    assert both.values["create_rate"] == pytest.approx(1.5 * one.values["create_rate"])
    assert sum(both.histograms["create_latency"].values()) == 400
    assert both.facts == {"ranks": 2, "create_items": 400}


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [recorded(ranks=2)],
        [recorded(), recorded()],
        [recorded(rank=0, ranks=2), recorded(rank=1, ranks=3)],
        [recorded(operation="stat")],
        [recorded(workers=2)],
        [recorded(items=199)],
        [recorded(items=0)],
        [recorded(seconds=0)],
        [recorded(latency="")],
        [recorded(latency="zz")],
        [recorded(latency=recorded()["latency"][:-8])],
    ],
)
def test_ranks_that_disagree_and_damage_are_no_reading(lines):
    with pytest.raises(ParseFailure):
        read(*lines)


def test_a_number_of_ranks_that_cannot_be_takes_no_memory():
    with pytest.raises(ParseFailure, match=f"1 summaries came from {10**15} ranks"):
        read(recorded() | {"ranks": 10**15})


@given(
    st.text() | st.dictionaries(st.sampled_from(list(recorded())), st.integers() | st.text()).map(json.dumps)
)
def test_any_output_is_a_summary_or_a_failure(text):
    with contextlib.suppress(ParseFailure):
        assert read_summary(text, "create", 1).rate > 0


@given(
    st.dictionaries(st.sampled_from(list(recorded())), st.integers() | st.text() | st.none() | st.floats())
)
def test_a_changed_summary_is_whole_or_a_failure(change):
    with contextlib.suppress(ParseFailure):
        assert read(recorded() | change).values["create_rate"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file_size": "2MiB"}, "measure data with fio"),
        ({"directories": 20, "files": 10}, "directories: 20 are more than files: 10"),
        ({"files": 10_000_000, "workers": 1000}, "are more than"),
        ({"workers": 0}, "workers"),
        ({"depth": 65}, "depth"),
        ({"directory": "relative/path"}, "relative/path"),
    ],
)
def test_what_is_no_tree_is_refused(options, message):
    with pytest.raises(ValidationError, match=message):
        made(**options)


def test_the_operations_leave_directories_alone(tmp_path):
    workload = made(files=20, directories=4, depth=2, workers=2, shift=1, file_size="10B")
    sizes = {}
    for phase in workload.phases(place(tmp_path)):
        done = run(phase.command, tmp_path)
        assert done.returncode == 0, done.stderr
        if phase.measured:
            values = workload.parse(phase.name, Output(EXIT, done.stdout, "")).values
            assert values[f"{phase.name}_rate"] > 0
        sizes[phase.name] = sorted(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert sizes["create"] == sizes["rename"] == [10] * 40
    assert sizes["remove"] == []
    assert len(list(tmp_path.glob("own*/d*/n"))) == 8


def test_ranks_share_a_tree_and_take_each_others_files(tmp_path):
    workload = made(files=10, directories=2, shared=True, shift=1)
    ranks = [{"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "3"} for rank in range(3)]
    for phase in workload.phases(place(tmp_path)):
        outputs = [run(phase.command, tmp_path, **rank) for rank in ranks]
        assert [done.stderr for done in outputs] == [""] * 3
        if phase.measured:
            text = "".join(done.stdout for done in outputs)
            assert workload.parse(phase.name, Output(EXIT, text, "")).facts["ranks"] == 3


def test_a_line_is_short_enough_to_stay_whole(tmp_path):
    workload = made(files=20_000)
    for phase in workload.phases(place(tmp_path))[:2]:
        assert len(run(phase.command, tmp_path).stdout) < 4096


def test_files_that_are_not_there_are_told(tmp_path):
    done = run(made().phases(place(tmp_path))[2].command, tmp_path)
    assert done.returncode == 2
    assert "stat of own0/d0/f0.0: No such file or directory" in done.stderr
