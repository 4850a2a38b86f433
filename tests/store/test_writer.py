from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from steelyard.errors import RunBusy, StoreError
from steelyard.store.layout import SCHEMA, RunFolder, Store
from steelyard.store.writer import RunWriter, is_live


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return Store(tmp_path).create("test")


def test_one_writer_at_a_time(folder: RunFolder) -> None:
    assert not is_live(folder)
    with RunWriter(folder):
        assert is_live(folder)
        with pytest.raises(RunBusy, match=f"run {folder.id} is in use by another process"):
            RunWriter(folder)
        assert is_live(folder), "the attempt did not take the lock away"
    assert not is_live(folder)
    with RunWriter(folder):
        assert is_live(folder)


def test_the_lock_goes_with_its_process(folder: RunFolder) -> None:
    """However it ends; what it leaves in control.json is no lock."""
    story = """
import os, sys
from pathlib import Path
from steelyard.store.layout import RunFolder
from steelyard.store.writer import RunWriter
writer = RunWriter(RunFolder(Path(sys.argv[1])))
writer.announce(pid=os.getpid())
print("locked", flush=True)
sys.stdin.read()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", story, str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        assert is_live(folder)
        assert json.loads(folder.control.read_text())["pid"] == holder.pid
        assert folder.control.stat().st_mode & 0o777 == 0o600
    finally:
        holder.kill()
        holder.communicate()
    assert folder.control.exists()
    assert not is_live(folder)
    with RunWriter(folder) as writer:
        writer.journal.write("line")
    assert not folder.control.exists()


CONTEND = """
import sys
from pathlib import Path
from steelyard.errors import RunBusy
from steelyard.store.layout import RunFolder
from steelyard.store.writer import RunWriter
folder, rounds = RunFolder(Path(sys.argv[1])), 50
while rounds:
    try:
        with RunWriter(folder):
            count = folder.path / "count"
            count.write_text(str(int(count.read_text()) + 1))
            rounds -= 1
    except RunBusy:
        continue
"""


def test_the_lock_holds_against_many(folder: RunFolder) -> None:
    """Also across the instant at which a holder removes the file that another has just opened."""
    (folder.path / "count").write_text("0")
    rivals = [subprocess.Popen([sys.executable, "-c", CONTEND, str(folder.path)]) for _ in range(3)]
    try:
        assert [rival.wait() for rival in rivals] == [0, 0, 0]
    finally:
        for rival in rivals:
            rival.kill()
            rival.wait()
    assert (folder.path / "count").read_text() == "150"


def test_looking_does_not_keep_a_writer_out(folder: RunFolder) -> None:
    """`list` holds the lock for an instant."""
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_live(folder)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(50):
            RunWriter(folder).__exit__(None, None, None)
    finally:
        over.set()
        for looker in lookers:
            looker.join()


def test_a_document_is_whole_and_says_its_schema(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.write_document(folder.design, {"cells": [{"n": 1}]}, sync=True)
        writer.write_text(folder.experiment, "experiment: ü")
    assert json.loads(folder.design.read_text()) == {"schema": SCHEMA, "cells": [{"n": 1}]}
    assert folder.experiment.read_text(encoding="utf-8") == "experiment: ü\n"


def test_a_document_is_there_as_a_whole_or_as_before(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.write_text(folder.design, "old")
        seen = set()
        over = threading.Event()

        def look() -> None:
            while not over.is_set():
                seen.add(folder.design.read_text())

        looker = threading.Thread(target=look)
        looker.start()
        long = ["x" * 500_000, "y" * 500_000]
        for turn in range(40):
            writer.write_text(folder.design, long[turn % 2])
        over.set()
        looker.join()
    assert seen <= {"old\n", *(text + "\n" for text in long)}
    assert [path.name for path in folder.path.glob(".*")] == []


def test_what_cannot_be_written_is_told(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        (folder.path / "trials").touch()
        for attempt in (
            lambda: writer.make_phase_folder(1, "host-0", "run"),
            lambda: writer.make_directory(folder.trial(1)),
            lambda: writer.write_document(folder.trial(1) / "trial.json", {}),
        ):
            with pytest.raises(StoreError, match=r"cannot write .*trials.*: Not a directory"):
                attempt()


def test_a_trial_that_filled_the_store_keeps_its_last_words(folder: RunFolder, tmp_path: Path) -> None:
    with RunWriter(folder) as writer:
        phase = writer.make_phase_folder(3, "host-0", "run")
        (phase / "stdout").write_text("x" * 1_000_000 + "the end")
        (phase / "stderr").write_text("small")
        outside = tmp_path / "outside"
        outside.write_text("y" * 100_000)
        (phase / "raw" / "link").symlink_to(outside)
        writer.shrink(3)
        writer.shrink(4)  # nothing there
    assert (phase / "stdout").stat().st_size == 4096
    assert (phase / "stdout").read_text().endswith("the end")
    assert (phase / "stderr").read_text() == "small"
    assert outside.stat().st_size == 100_000


def test_a_file_system_without_locks_is_told(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Lustre is when mounted without `flock`; there is none to be had here."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(StoreError, match=r"cannot lock .*control\.json: Function not implemented") as caught:
        RunWriter(folder)
    assert "--store" in caught.value.hint
    assert not is_live(folder)


def test_a_journal_that_cannot_be_opened_frees_the_lock(folder: RunFolder) -> None:
    folder.journal.mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        RunWriter(folder)
    assert not is_live(folder)
    folder.journal.rmdir()
    with RunWriter(folder):
        pass


def test_everything_is_closed_even_when_the_last_sync_fails(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    writer = RunWriter(folder)
    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(StoreError, match="Input/output error"):
        writer.__exit__(None, None, None)
    assert not folder.control.exists()
    assert not is_live(folder)
