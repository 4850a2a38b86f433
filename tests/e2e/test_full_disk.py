"""A real file system that is full: nothing that had finished is lost, and with room again resume goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import ForkServer, Lab

    Mount = Callable[..., AbstractContextManager[Path]]

PAGE = os.sysconf("SC_PAGE_SIZE")
TALKATIVE = r"""
experiment: talkative
workload:
  use: command
  script: |
    head -c 1500000 /dev/zero | tr '\0' x
    echo; echo "value: 7"
  metrics: {value: {regex: 'value: (\d+)'}}
repeat: 8
disturbed: include
"""
LITTLE = r"""
experiment: little
workload: {use: command, script: 'echo "value: 7"', metrics: {value: {regex: 'value: (\d+)'}}}
repeat: 3
disturbed: include
"""


def free(place: Path) -> int:
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def fill(place: Path, left: int) -> Path:
    """Leave so many pages."""
    filler = place / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free(place) - left * PAGE)
    return filler


def is_told(said: str, code: int) -> None:
    assert code == 3, said
    assert "no space left" in said.lower() or "is full" in said, said
    assert "Traceback" not in said, said


def test_output_that_fills_the_store(lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    """Its trials fail, cut down to their evidence, and are made again when there is room."""
    with mount("size=8m") as place:
        lab.store = place / "store"
        outcome = fork_server.run(lab, "run", lab.file(TALKATIVE), "--scratch", str(lab.place / "scratch"))
        assert "FAILED (store-full): no space left in" in outcome.said
        done = [line["trial"] for line in lab.journal() if line.get("status") == "ok"]
        assert 3 <= len(done) <= 5
        sizes = [(lab.runs()[0] / f"trials/{n}/host-0/run/stdout").stat().st_size for n in range(1, 9)]
        assert sizes[: len(done)] == [1500000 + len("\nvalue: 7\n")] * len(done)
        assert max(sizes[len(done) :]) <= 4096
        failed = [line for line in lab.journal() if line.get("status") == "failed"]
        assert {line["category"] for line in failed} == {"store-full"}
        assert (len(done) + len(failed), lab.journal()[-1]["kind"]) == (8, "run-ended")
        subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
        resumed = fork_server.run(lab, "resume", "last")
        assert resumed.code == 0, resumed.said
        assert {result[1]: result[2:] for result in ok(lab)} == dict.fromkeys(range(1, 9), ("ok", 7.0))
        last = lab.journal()[-1]
        assert (last["state"], last["done"], last["failed"]) == ("complete", 8, 0)


def test_a_store_that_others_fill_up(lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    """There is room for the last words only."""
    with mount("size=8m") as place:
        lab.store = place / "store"
        text = LITTLE.replace("'echo", f"'head -c 3000000 /dev/zero > {place}/other-$$; echo")
        outcome = fork_server.run(lab, "run", lab.file(text), "--scratch", str(lab.place / "scratch"))
        is_told(outcome.said, outcome.code)
        assert "`steelyard resume" in outcome.said
        assert [result[1:] for result in ok(lab)] == [(1, "ok", 7.0), (2, "ok", 7.0)]
        last = lab.journal()[-1]
        assert (last["kind"], last["state"]) == ("run-ended", "failed")
        assert last["done"] == sum(line["kind"] == "trial-ended" for line in lab.journal())
        still = fork_server.run(lab, "resume", "last")
        is_told(still.said, still.code)
        for other in place.glob("other-*"):
            other.unlink()
        resumed = fork_server.run(lab, "resume", "last")
        assert resumed.code == 0, resumed.said
        assert [result[1:] for result in ok(lab)] == [(k, "ok", 7.0) for k in (1, 2, 3)]
        assert lab.journal()[-1]["state"] == "complete"


def ok(lab: Lab) -> list[tuple[object, ...]]:
    return [result for result in lab.results() if result[2] == "ok"]


def survives_with_little_room(
    lab: Lab, server: ForkServer, place: Path, make_room: Callable[[], object]
) -> None:
    lab.store = place / "store"
    outcome = server.run(lab, "run", lab.file(LITTLE), "--scratch", str(lab.place / "scratch"))
    if outcome.code != 0:
        is_told(outcome.said, outcome.code)
    before = (
        {line["trial"] for line in lab.journal() if line["kind"] == "trial-ended"} if lab.runs() else set()
    )
    make_room()
    listed = server.run(lab, "list")
    assert listed.code == 0, listed.said
    if not lab.runs():
        return
    began = bool(lab.journal())
    resumed = server.run(lab, "resume", "last")
    assert resumed.code == (0 if began else 2), resumed.said
    if began:
        journal = lab.journal()
        assert journal[-1]["state"] == "complete"
        assert [line["seq"] for line in journal] == list(range(1, len(journal) + 1))
        assert before <= {line["trial"] for line in journal if line["kind"] == "trial-ended"}
        assert [result[1:] for result in ok(lab)] == [(k, "ok", 7.0) for k in (1, 2, 3)]
    assert not any((lab.place / "scratch").glob("*"))


@pytest.mark.parametrize("left", [0, 1, 2, 3, 5, 8, 17, 19, 22, 25])
def test_hardly_any_room_in_the_store(left: int, lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    """So many pages are left, which are gone at another step of the run each time."""
    with mount("size=1m") as place:
        filler = fill(place, left)
        survives_with_little_room(lab, fork_server, place, filler.unlink)


@pytest.mark.full
@pytest.mark.parametrize("left", range(64))
def test_room_for_so_many_pages(left: int, lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    with mount("size=1m") as place:
        filler = fill(place, left)
        survives_with_little_room(lab, fork_server, place, filler.unlink)


def inodes(server: ForkServer, lab: Lab, mount: Mount, number: int) -> None:
    with mount(f"size=4m,nr_inodes={number}") as place:

        def make_room() -> None:
            subprocess.run(["mount", "-o", "remount,nr_inodes=1000", place], check=True)

        survives_with_little_room(lab, server, place, make_room)


@pytest.mark.parametrize("number", [2, 5, 8, 11, 15, 22])
def test_hardly_any_inodes_in_the_store(number: int, lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    inodes(fork_server, lab, mount, number)


@pytest.mark.full
@pytest.mark.parametrize("number", range(2, 45))
def test_so_many_inodes(number: int, lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    inodes(fork_server, lab, mount, number)


def test_a_full_test_directory_fails_the_trial_only(lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    text = """
experiment: large
parameters: {size: [1, 20]}
workload:
  use: command
  script: dd if=/dev/zero of=data bs=1M count=$size
repeat: 2
disturbed: include
order: as-written
"""
    with mount("size=8m") as place:
        outcome = fork_server.run(lab, "run", lab.file(text), "--scratch", str(place))
        assert not list(place.iterdir()), "all scratch is gone"
    ended = [line for line in lab.journal() if line["kind"] == "trial-ended"]
    found = {(line["parameters"]["size"], line["repetition"]): line for line in ended}
    assert [found[1, k]["status"] for k in (1, 2)] == ["ok", "ok"]
    assert [found[20, k]["category"] for k in (1, 2)] == ["disk-full", "disk-full"]
    assert "No space left on device" in found[20, 1]["message"]
    assert "FAILED (disk-full)" in outcome.said
    assert lab.journal()[-1]["state"] == "complete"


def test_no_room_for_preconditioning_fails_the_trial(lab: Lab, fork_server: ForkServer, mount: Mount) -> None:
    text = """
experiment: large
workload: {use: command, run: ["true"]}
before_each: [{precondition: 20MiB}]
repeat: 2
disturbed: include
"""
    with mount("size=8m") as place:
        fork_server.run(lab, "run", lab.file(text), "--scratch", str(place))
        assert not list(place.iterdir()), "what was written until then is gone, too"
    ended = [line for line in lab.journal() if line["kind"] == "trial-ended"]
    assert [line["category"] for line in ended] == ["disk-full", "disk-full"]
    assert "before_each precondition" in ended[0]["message"]


def test_a_test_directory_without_room_for_the_scratch_itself(
    lab: Lab, fork_server: ForkServer, mount: Mount
) -> None:
    with mount("size=1m,nr_inodes=2") as place:
        outcome = fork_server.run(lab, "run", "--scratch", str(place / "x"), "--", "true")
    assert outcome.code == 3
    assert "cannot create the scratch directory" in outcome.said
    assert "No space left on device" in outcome.said


def test_no_room_for_the_report_does_not_spoil_the_results(lab: Lab, mount: Mount) -> None:
    with mount("size=700k") as place:
        argv = ["run", lab.file(LITTLE), "--store", str(place), "--scratch", str(lab.place / "scratch")]
        ended = subprocess.run(
            [sys.executable, "-m", "steelyard", *argv],
            check=False,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr
        assert "wall  median" in ended.stdout
        assert "cannot write the report: " in ended.stderr
        assert "Traceback" not in ended.stderr
        assert not list(place.glob("runs/*/derived/*")), "no half report is left"


def test_a_store_that_becomes_read_only(lab: Lab, mount: Mount, until: Callable[..., bool]) -> None:
    """As file systems do when their disk fails."""
    text = "experiment: slow\nworkload: {use: command, run: [sleep, 0.3]}\nrepeat: 3\ndisturbed: include\n"
    with mount("size=8m") as place:
        lab.store = place / "store"
        started = lab.start("run", lab.file(text), "--scratch", str(lab.place / "scratch"))
        assert until(lambda: lab.runs() and len(lab.journal()) > 2)
        subprocess.run(["mount", "-o", "remount,ro", place], check=False)
        outcome = started.ended()
        subprocess.run(["mount", "-o", "remount,rw", place], check=True)
        assert outcome.code in (0, 3), outcome.said
        assert "Traceback" not in outcome.said
        assert not any((lab.place / "scratch").glob("*"))
        resumed = lab.steelyard("resume", "last")
        assert resumed.code == 0, resumed.said
        assert [result[1:3] for result in lab.results()] == [(k, "ok") for k in (1, 2, 3)]
