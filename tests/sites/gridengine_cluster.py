"""A real Grid Engine on one host of a network namespace, for tests."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from patience import until
from steelyard.sites.gridengine import Gridengine

UP = Path(__file__).with_name("gridengine_up.sh")
SERVER = {"SGE_CELL": "default", "SGE_QMASTER_PORT": "6444", "SGE_EXECD_PORT": "6445"}
MARK = "STEELYARD_GRIDENGINE"


def running_gridengine(place: Path) -> Iterator[Path]:
    """A directory of commands that talk to it, for PATH. Skips where it is not installed or not allowed."""
    if not all(map(shutil.which, ("qsub", "sge_qmaster", "sge_execd"))):
        pytest.skip("not installed: gridengine-master, gridengine-exec, gridengine-client")
    if os.geteuid():
        pytest.skip("network namespaces need root")
    environment = {**os.environ, MARK: str(place), "SGE_ROOT": str(place / "root"), **SERVER}
    log = place / "log"
    with log.open("wb") as out:
        holder = subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "sh", str(UP), str(place)], env=environment, cwd=place,
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    try:
        assert until(lambda: (place / "ready").exists() or holder.poll() is not None), log.read_text()
        assert holder.poll() is None, log.read_text()
        yield _commands(place, holder.pid)
    finally:
        _end(place)
        holder.wait()


def _commands(place: Path, pid: int) -> Path:
    """Wrappers that enter the namespaces, where alone the server is reached."""
    programs = place / "commands"
    programs.mkdir()
    settings = " ".join(f"{name}={value}" for name, value in {"SGE_ROOT": place / "root", **SERVER}.items())
    for name in Gridengine.needs:
        wrapper = programs / name
        wrapper.write_text(f'#!/bin/sh\nexec nsenter -t {pid} -n -u -m env {settings} /usr/bin/{name} "$@"\n')
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return programs


def _end(place: Path) -> None:
    """What inherited the mark: daemons, jobs and the holder."""
    mark = f"\0{MARK}={place}\0".encode()
    for _ in range(100):
        left = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and _bears(entry, mark)]
        for entry in left:
            with suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)
        if not left:
            return
        time.sleep(0.05)


def _bears(entry: Path, mark: bytes) -> bool:
    try:
        return mark in b"\0" + (entry / "environ").read_bytes()
    except OSError:
        return False


@pytest.fixture(scope="session")
def gridengine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the commands of a Grid Engine lie that all tests of a session share."""
    yield from running_gridengine(tmp_path_factory.mktemp("gridengine"))
