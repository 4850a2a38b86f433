"""Mounts in a namespace that one process holds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from patience import PATIENCE
from steelyard.hosts.mount_point import MountPoint, hold_mount
from steelyard.model.command import Command

TMPFS = Command(("sh", "-c", 'mount -t tmpfs tmpfs "$1" && echo mounted && exec sleep 600', "sh"))


def can_mount() -> bool:
    """Root can; others where the system lets them have namespaces of their own."""
    if not shutil.which("nsenter"):
        return False
    words = ("unshare", "--map-root-user", "--mount", "true")
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="this system gives no mount namespaces")


@contextmanager
def held(path: Path) -> Iterator[MountPoint]:
    command = hold_mount(Command((*TMPFS.argv, str(path))), PurePosixPath(path))
    with subprocess.Popen(command.argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        try:
            assert holder.stdout.readline() == "mounted\n"
            yield MountPoint(holder.pid, PurePosixPath(path))
        finally:
            holder.kill()


def run_inside(point: MountPoint, *words: str) -> str:
    argv = point.enter(Command(words), point.path).argv
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


def test_only_who_enters_sees_the_files(tmp_path: Path) -> None:
    path = tmp_path / "a b$c"
    with held(path) as point:
        assert run_inside(point, "pwd") == f"{path}\n"
        run_inside(point, "sh", "-c", "echo text > file")
        assert list(path.iterdir()) == []
        assert Path(point.outside(point.path / "file")).read_text() == "text\n"
    assert list(path.iterdir()) == [], "the directory is there, the mount is not"


def test_words_are_passed_as_they_are(tmp_path: Path) -> None:
    with held(tmp_path / "m") as point:
        assert run_inside(point, "printf", "%s|", "a b", "$x", "'", "") == "a b|$x|'||"


def test_the_mount_goes_with_its_last_process(tmp_path: Path) -> None:
    with held(tmp_path / "m") as point:
        argv = point.enter(Command(("sh", "-c", "echo in; exec sleep 600")), point.path).argv
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as inside:
            assert inside.stdout
            assert inside.stdout.readline() == "in\n"
            os.kill(point.holder, signal.SIGKILL)
            inside.kill()
    until = time.monotonic() + PATIENCE
    while (tmp_path / "m").exists() and time.monotonic() < until:
        shutil.rmtree(tmp_path / "m")  # refused while anything is mounted there
    assert str(tmp_path) not in Path("/proc/mounts").read_text()


def test_a_command_keeps_its_variables_and_its_input() -> None:
    command = Command(("prog", "x"), {"A": "1"}, PurePosixPath("/elsewhere"), "text", {"B": "2"})
    inside = MountPoint(7, PurePosixPath("/m")).enter(command, PurePosixPath("/m/d"))
    assert (inside.env, inside.stdin, inside.secrets) == ({"A": "1"}, "text", {"B": "2"})
    assert inside.cwd is None
    assert inside.argv[-4:] == ("7", "/m/d", "prog", "x")
