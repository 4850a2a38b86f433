"""Runs on one machine know of each other."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from patience import comes, until
from steelyard.controller.machine.lock_files import find_measuring_run, make_lock_folder
from steelyard.controller.machine.machine_lock import MachineLock
from steelyard.errors import HostError
from steelyard.store.layout import account_name

if TYPE_CHECKING:
    from conftest import Recorder

USER = account_name(os.getuid())
HOLD = """
import asyncio, sys
from steelyard.controller.observer import Observer
from steelyard.controller.machine.machine_lock import MachineLock
from steelyard.controller.machine.lock_files import find_measuring_run, make_lock_folder
async def hold():
    async with MachineLock(Observer(), parallel="beside" in sys.argv, run="first"):
        print("holds", flush=True)
        await asyncio.to_thread(sys.stdin.read)
asyncio.run(hold())
"""


@contextmanager
def another(*options: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that has its turn until its standard input ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, *options], stdin=pipe, stdout=pipe, text=True
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "holds\n"
            yield process
        finally:
            process.kill()


async def waits(turn: MachineLock, seconds: float = 0.3) -> bool:
    """Whether it does not get its turn within so many seconds."""
    task = asyncio.create_task(turn.__aenter__())
    done, _ = await asyncio.wait([task], timeout=seconds)
    task.cancel()
    await asyncio.wait([task])
    if done:
        await turn.__aexit__(None, None, None)
    return not done


def test_the_only_run_has_its_turn_and_is_alone(told: Recorder) -> None:
    async def story() -> None:
        async with MachineLock(told, parallel=False) as turn:
            assert turn.is_alone()
            assert turn.is_alone(), "asking does not change the answer"

    asyncio.run(story())
    assert told.warnings == []


def test_the_second_waits_until_the_first_is_over(told: Recorder) -> None:
    async def story(first: subprocess.Popen[str]) -> None:
        assert await waits(MachineLock(told, parallel=False))
        assert first.stdin
        first.stdin.close()
        async with MachineLock(told, parallel=False) as turn:
            assert turn.is_alone()

    with another() as first:
        asyncio.run(story(first))
    (warning,) = {re.sub(r"\d+:\d\d", "0:00", text) for text in told.warnings}
    assert warning == (
        f"run first of {USER} has been measuring on this machine for 0:00; waiting for it to end"
        " (--beside runs at once and marks the trials)"
    )


def test_a_directory_that_goes_while_it_is_looked_at_is_made_again(
    told: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last run takes it away between our attempt to make it and the look at whose it is."""
    made, mkdir = list[Path](), Path.mkdir

    def make(path: Path, *words: Any, **more: Any) -> None:
        if path.name == "steelyard" and not made:
            made.append(path)
            raise FileExistsError
        mkdir(path, *words, **more)

    monkeypatch.setattr(Path, "mkdir", make)

    async def story() -> None:
        async with MachineLock(told, parallel=False) as turn:
            assert turn.is_alone()

    asyncio.run(story())
    assert made


def test_a_turn_ends_with_its_process(told: Recorder) -> None:
    async def story(first: subprocess.Popen[str]) -> None:
        first.kill()
        async with MachineLock(told, parallel=False):
            pass

    with another() as first:
        asyncio.run(story(first))


def test_beside_another_neither_is_alone(told: Recorder) -> None:
    async def story() -> None:
        async with MachineLock(told, parallel=True) as turn:
            assert not turn.is_alone()
            assert not turn.is_alone()

    with another():
        asyncio.run(story())
    (warning,) = told.warnings
    assert warning.startswith(f"run first of {USER} has been measuring on this machine for ")
    assert warning.endswith("; trials are marked as disturbed")


def test_who_was_first_learns_of_one_that_came_beside(told: Recorder) -> None:
    async def story() -> None:
        async with MachineLock(told, parallel=False) as turn:
            assert turn.is_alone()
            with another("beside"):
                assert not turn.is_alone()
                assert not turn.is_alone()
            assert turn.is_alone()

    asyncio.run(story())


def test_one_that_came_and_went_is_noticed_once(told: Recorder) -> None:
    """It disturbed what was measured since."""

    async def story() -> None:
        async with MachineLock(told, parallel=False) as turn:
            assert turn.is_alone()
            with another("beside"):
                pass
            assert not turn.is_alone()
            assert turn.is_alone()

    asyncio.run(story())


def test_one_that_only_waits_disturbs_nobody(told: Recorder) -> None:
    async def story() -> None:
        async with MachineLock(told, parallel=False) as turn:
            assert await waits(MachineLock(told, parallel=False))
            assert turn.is_alone()

    asyncio.run(story())


def test_a_run_beside_nobody_takes_its_turn(told: Recorder) -> None:
    async def story() -> None:
        async with MachineLock(told, parallel=True):
            assert await waits(MachineLock(told, parallel=False))

    asyncio.run(story())


@pytest.mark.parametrize("form", ["a file", "a link", "open to others"])
def test_a_hostile_directory_is_refused(form: str, own_place: Path, told: Recorder) -> None:
    place = own_place / "tmp" / "steelyard"
    if form == "a file":
        place.touch()
    elif form == "a link":
        place.symlink_to(own_place)
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(HostError) as caught:
        asyncio.run(MachineLock(told, parallel=False).__aenter__())
    assert "STEELYARD_RUNTIME_DIR" in caught.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_a_directory_of_somebody_else_is_refused(own_place: Path, told: Recorder) -> None:
    place = own_place / "tmp" / "steelyard"
    place.mkdir()
    os.chown(place, 65534, 65534)
    with pytest.raises(HostError, match="belongs to another account"):
        asyncio.run(MachineLock(told, parallel=False).__aenter__())


def test_a_lock_that_is_a_link_is_not_followed(own_place: Path, told: Recorder) -> None:
    place = own_place / "tmp" / "steelyard"
    place.mkdir(mode=0o700)
    (place / "turn").symlink_to(own_place / "elsewhere")
    with pytest.raises(HostError, match="cannot take this machine's measurement lock"):
        asyncio.run(MachineLock(told, parallel=False).__aenter__())
    assert not (own_place / "elsewhere").exists()


@pytest.fixture
def folder(own_place: Path) -> Path:
    """Where the locks of this test lie."""
    return own_place / "tmp" / "steelyard"


def test_the_last_run_takes_the_files_away(told: Recorder, folder: Path) -> None:
    async def story() -> None:
        async with MachineLock(told, parallel=False):
            async with MachineLock(told, parallel=True):
                assert sorted(path.name for path in folder.iterdir()) == ["present", "turn"]
            assert folder.exists(), "the other is still there"
        assert not folder.exists()

    asyncio.run(story())


def test_who_waited_for_files_that_were_taken_away_locks_those_that_others_find(
    told: Recorder, folder: Path
) -> None:
    async def story(first: subprocess.Popen[str]) -> None:
        second = MachineLock(told, parallel=False)
        coming = asyncio.create_task(second.__aenter__())
        assert await comes(lambda: told.warnings), "it waits for its turn"
        assert first.stdin
        first.stdin.close()
        await coming
        assert await waits(MachineLock(told, parallel=False)), "a third finds the lock of the second"
        assert second.is_alone()
        await second.__aexit__(None, None, None)

    with another() as first:
        asyncio.run(story(first))
    assert not folder.exists()


def test_many_that_come_and_go_are_never_two_at_once(
    told: Recorder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[int] = []

    async def one(number: int) -> None:
        for _ in range(20):
            async with MachineLock(told, parallel=False):
                assert not inside
                inside.append(number)
                await asyncio.sleep(0.001)
                inside.remove(number)

    async def story() -> None:
        await asyncio.gather(*map(one, range(3)))

    monkeypatch.setattr("steelyard.controller.machine.machine_lock.LOOK_EVERY", 0.001)
    asyncio.run(story())
    assert not folder.exists()


def test_a_place_for_the_locks_that_is_gone_is_told(own_place: Path, told: Recorder) -> None:
    (own_place / "tmp").rmdir()
    with pytest.raises(HostError, match="cannot take this machine's measurement lock") as caught:
        asyncio.run(MachineLock(told, parallel=False).__aenter__())
    assert "STEELYARD_RUNTIME_DIR" in caught.value.hint


def test_who_looks_learns_which_run_measures(told: Recorder) -> None:
    said = f"run first of {USER} has been measuring on this machine for "
    assert find_measuring_run() is None
    with another():
        assert (find_measuring_run() or "").startswith(said)
        with another("beside"):
            assert (find_measuring_run() or "").startswith(said)
    assert until(lambda: find_measuring_run() is None)


@pytest.mark.parametrize("text", ["", "x", "run me soon", "\xff\x1b 1", "a b -1"])
def test_a_turn_that_nobody_signed_is_that_of_another(told: Recorder, text: str) -> None:
    with another():
        (make_lock_folder() / "turn").write_text(text, "latin-1")
        assert find_measuring_run() == "another run has been measuring on this machine"


def test_a_home_that_nobody_may_write_to_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("STEELYARD_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(
        "steelyard.controller.machine.lock_files._is_private", lambda path: not path.is_relative_to("/run")
    )
    monkeypatch.setattr("steelyard.controller.machine.lock_files._home", lambda: tmp_path)
    assert make_lock_folder().is_relative_to(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    try:
        assert make_lock_folder() == Path(f"/var/tmp/steelyard-{os.getuid()}")
    finally:
        with suppress(OSError):
            Path(f"/var/tmp/steelyard-{os.getuid()}").rmdir()
