"""Process 1 of a pod: it holds the pod as long as it is renewed, and ends without an error when it is not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from patience import PATIENCE, until
from steelyard.hosts.minder.processes import read_proc
from steelyard.provision.kubernetes import order

SCRIPT = (Path(order.__file__).parent / "watcher.sh").read_text()


Watch = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """Start a watcher: how many slices it has to begin with, and by a renewal, and their seconds."""
    begun: list[subprocess.Popen[bytes]] = []

    def begin(first: int, slices: int, seconds: float, shell: str = "sh") -> subprocess.Popen[bytes]:
        places = {"HOME": f"{tmp_path}/home", "TMPDIR": f"{tmp_path}/tmp"}
        words = [*shell.split(), "-c", SCRIPT, "sh", *map(str, (tmp_path, first, slices, seconds))]
        begun.append(subprocess.Popen(words, env={**os.environ, **places}, start_new_session=True))
        return begun[-1]

    yield begin
    for process in begun:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox ash"])
def test_without_renewal_it_ends_well(watch: Watch, shell: str) -> None:
    assert watch(2, 2, 0.05, shell).wait(PATIENCE) == 0


def test_it_prepares_the_volume_for_the_agent(watch: Watch, tmp_path: Path) -> None:
    process = watch(1, 1, 0.05)
    process.wait(PATIENCE)
    assert (tmp_path / "home/.config/steelyard/trusted").read_text() == f"{tmp_path}\n"
    assert (tmp_path / "home/.steelyard-watcher").read_text() == f"{process.pid}\n"
    assert (tmp_path / "tmp").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox ash"])
def test_a_renewal_gives_all_slices_again(watch: Watch, tmp_path: Path, shell: str) -> None:
    """It has one slice of an hour to begin with; a signal ends that wait, and gives three of them."""
    process = watch(1, 3, 3600, shell)
    assert until((tmp_path / "home/.steelyard-watcher").exists)
    for _ in range(2):
        assert until(lambda: len(sleeps_of(process.pid)) == 1)
        before = sleeps_of(process.pid)
        assert until(lambda old=before: renew(process) not in ([], old))
    assert process.poll() is None
    process.terminate()
    process.wait(PATIENCE)


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox ash"])
def test_renewals_in_quick_succession_leave_one_sleep(watch: Watch, tmp_path: Path, shell: str) -> None:
    """Also one that comes while the sleep is still a copy of the shell, with its traps."""
    process, drawn = watch(3, 3, 3600, shell), random.Random(1)
    assert until((tmp_path / "home/.steelyard-watcher").exists)
    for _ in range(1000):
        process.send_signal(signal.SIGUSR1)
        time.sleep(drawn.random() * 0.002)
    assert until(lambda: len(sleeps_of(process.pid)) == 1)


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox ash"])
def test_when_its_pod_is_taken_away_it_has_failed(watch: Watch, tmp_path: Path, shell: str) -> None:
    process = watch(10, 10, 3600, shell)
    assert until((tmp_path / "home/.steelyard-watcher").exists)
    process.terminate()
    assert process.wait(PATIENCE) == 143


def test_a_volume_that_cannot_be_written_is_an_error(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "tmp").write_text("a file")
    assert watch(1, 1, 0.05).wait(PATIENCE) == 64


def renew(process: subprocess.Popen[bytes]) -> list[int]:
    """Renew it once more, and look: one that comes between two of its commands counts, but ends no wait."""
    process.send_signal(signal.SIGUSR1)
    return sleeps_of(process.pid)


def sleeps_of(pid: int) -> list[int]:
    """The sleeps that it waits for."""
    content = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in content if is_sleep(int(each))]


def is_sleep(pid: int) -> bool:
    return b"sleep\0" in read_proc(f"/proc/{pid}/cmdline")
