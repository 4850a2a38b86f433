"""`capture: io`: what real programs and servers ask of their storage, in the record of a run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recorded_programs import require_library, require_passthrough
from steelyard.traces.folder import TraceFolder
from steelyard.traces.profile import Profile, profile_table

if TYPE_CHECKING:
    from conftest import Lab

WRITES = "import os; f = os.open('data', 65); [os.write(f, b'x' * 4096) for _ in range(50)]; os.fsync(f)"
PROGRAM = f"""\
experiment: captured
parameters: {{capture: [io, fuse, null]}}
workload:
  use: command
  run: [python3, -I, -S, -c, "{WRITES}"]
  capture: "${{capture}}"
repeat: 1
disturbed: include
"""


@pytest.fixture(autouse=True)
def recorders() -> None:
    require_library()
    require_passthrough()


def profiles(lab: Lab) -> list[Profile]:
    """Those of all traces in the record of the one run; nothing is left of how they came about."""
    (run,) = lab.runs()
    assert not list(run.rglob("segments"))
    traces = [TraceFolder(path.parent) for path in sorted(run.rglob("trace.json"))]
    assert all(trace.read_document()["processes"] for trace in traces)
    return [profile_table(trace.table) for trace in traces]


@pytest.mark.parametrize("site", ["local", "local:2", "netns:1"])
def test_the_cells_that_ask_for_it_have_a_trace(lab: Lab, site: str) -> None:
    if site.startswith("netns") and os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    ended = lab.steelyard("run", "-q", "--site", site, lab.file(PROGRAM))
    assert ended.code == 0, ended.said
    found = profiles(lab)
    assert len(found) == (4 if site == "local:2" else 2)
    for profile in found:
        assert (profile.kinds["write"].calls, profile.written) == (50, 50 * 4096)
        assert profile.kinds["sync"].calls == 1
    assert lab.steelyard("report", "last").code == 0
    (run,) = lab.runs()
    assert "Storage calls" in (run / "derived" / "report.html").read_text()
    shown = lab.steelyard("trace", "show", str(next(run.rglob("trace.json")).parent))
    assert "200 KiB in 50 writes" in shown.said


@pytest.mark.parametrize("way", ["io", "fuse"])
def test_a_program_in_a_container_is_recorded_too(lab: Lab, way: str) -> None:
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    text = PROGRAM.replace("capture: [io, fuse, null]", f"capture: [{way}]").replace(
        'capture: "${capture}"', 'capture: "${capture}"\n  wrap: {in: bubblewrap, cores: 1}'
    )
    ended = lab.steelyard("run", "-q", lab.file(text))
    assert ended.code == 0, ended.said
    (profile,) = profiles(lab)
    assert profile.most_used[0].written == 50 * 4096
    (trace,) = lab.runs()[0].rglob("trace.json")
    document = TraceFolder(trace.parent).read_document()
    processes = document["processes"]
    assert document["way"] == way
    assert way == "fuse" or not [each for each in processes if "bwrap" in each["arguments"][0]], (
        "what starts it is not"
    )


SERVED = """\
experiment: served
services: {db: {use: NAME, on: host, capture: io}}
workload: {use: CLIENT, to: db, OPTIONS}
repeat: 1
disturbed: include
"""


@pytest.mark.parametrize("way", ["io", "fuse-cached"])
@pytest.mark.parametrize(
    ("name", "client", "options", "program"),
    [
        ("redis", "redis_benchmark", "requests: 200", "redis-server"),
        ("postgresql", "pgbench", "duration: 5s, mode: simple-update", "pgbench"),
    ],
)
def test_a_server_that_gives_up_root_is_recorded(
    lab: Lab, enterable_scratch: Path, name: str, client: str, options: str, program: str, way: str
) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    text = SERVED.replace("NAME", name).replace("CLIENT", client).replace("OPTIONS", options)
    more = f"capture: {way}, appendonly: true" if name == "redis" else f"capture: {way}"
    text = text.replace("capture: io", more)
    ended = lab.steelyard("run", "-q", lab.file(text))
    assert ended.code == 0, ended.said
    (profile,) = profiles(lab)
    assert profile.written > 1000
    assert profile.kinds["sync"].calls > 0
    assert not list(enterable_scratch.iterdir())


def test_what_cannot_be_captured_is_refused(lab: Lab) -> None:
    ended = lab.steelyard("plan", lab.file(PROGRAM.replace("[io, fuse, null]", "[network]")))
    assert ended.code == 2
    assert "capture: 'network' cannot be recorded; there are io, fuse, fuse-cached" in ended.said


def test_ranks_of_a_parallel_program_are_recorded_together_and_alike_in_both_ways(lab: Lab) -> None:
    for tool in ("mpirun", "steelyard-hdf5"):
        if not shutil.which(tool) and not (Path.home() / ".cache/steelyard/tools" / tool).exists():
            pytest.skip(f"{tool} is not installed")
    workload = 'workload: {use: hdf5_bench, ranks: 2, capture: "${way}"}'
    text = f"experiment: ranks\nparameters: {{way: [io, fuse]}}\n{workload}\nrepeat: 1\ndisturbed: include\n"
    ended = lab.steelyard("run", "-q", lab.file(text))
    assert ended.code == 0, ended.said
    by_way: dict[str, list[Profile]] = {"io": [], "fuse": []}
    for path in sorted(lab.runs()[0].rglob("trace.json")):
        folder = TraceFolder(path.parent)
        by_way[folder.read_document()["way"]].append(profile_table(folder.table))
    read, written = by_way["io"]
    for call, one, other in zip(("pread", "pwrite"), *by_way.values(), strict=True):
        assert (one.names[call].calls, one.names[call].bytes) == (
            other.names[call].calls,
            other.names[call].bytes,
        )
    assert (read.processes, written.processes) == (2, 2)
    assert read.patterns["read"]["strided"] > 0.9 * read.read
    assert written.patterns["write"]["strided"] > 0.9 * written.written
    assert written.most_used[0].written == pytest.approx(read.most_used[0].read, rel=0.001)
