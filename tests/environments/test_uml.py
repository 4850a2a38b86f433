"""Guests of User-mode Linux: streams, memory, what a panic leaves to read, and other users."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from steelyard.environments.uml import Uml
from steelyard.model.command import Command
from steelyard.model.control_groups import Limits
from steelyard.model.environment import Inside
from steelyard.testing.contract.environments import make_image
from steelyard.testing.patience import PATIENCE

pytestmark = pytest.mark.skipif(not shutil.which("linux.uml"), reason="user-mode-linux is not installed")


@pytest.fixture
def scratch(tmp_path):
    place = tmp_path / "a scratch"
    place.mkdir()
    return place


def run(scratch, *argv, image=None, limits=None, **streams):
    inside = Inside(image and str(image), (str(scratch),), str(scratch), limits or Limits())
    entered = Uml("uml").enter(Command(argv), inside)
    return subprocess.run(entered.argv, capture_output=True, timeout=PATIENCE, check=False, **streams)


def test_every_byte_comes_through_in_both_directions(scratch):
    sent = bytes(range(256)) * 400 + b"no end of line"
    ended = run(scratch, "sh", "-c", "tee /dev/stderr; : > /dev/shm/x; exit 3", input=sent)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, sent, sent)
    assert list(scratch.iterdir()) == []


def test_the_guest_has_the_memory_that_it_may_use(scratch):
    read = ("sed", "-n", r"s/MemTotal: *\(.*\) kB/\1/p", "/proc/meminfo")
    small, whole = (
        int(run(scratch, *read, limits=limits).stdout)
        for limits in (Limits.parse({"memory": "128MiB"}), None)
    )
    assert 64 << 10 < small <= 128 << 10
    assert 768 << 10 < whole <= 1 << 20


def test_a_guest_that_panics_says_why(scratch):
    image = make_image(scratch / "image")
    (image / "usr/bin/sh").unlink()
    ended = run(scratch, "true", image=image)
    assert ended.returncode == 125
    assert b"the guest ended early:" in ended.stderr
    assert b"/bin/sh" in ended.stderr
    assert b"Kernel panic" in ended.stderr.splitlines()[-1]


def test_a_program_that_the_image_lacks(scratch):
    ended = run(scratch, "nowhere", image=make_image(scratch / "image"))
    assert ended.returncode == 127
    assert b"nowhere: not found" in ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")
def test_anybody_may_boot_one():
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        os.chown(place, 4711, 4711)
        ended = run(place, "sh", "-c", "echo mine > here; cat here", user=4711, group=4711, extra_groups=[])
        assert (ended.stdout, ended.stderr) == (b"mine\n", b"")
        assert (place / "here").stat().st_uid == 4711
    finally:
        shutil.rmtree(place)
