"""Other accounts on this machine, for tests that play the adversary or two users at once. Root makes them.

An account has a home, a group of its own and a shell. It runs our code with this test's Python, whose files
it reaches through mounts in a namespace of its own, wherever they lie.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_PREFIX = "sytest"
_COMMENT = "steelyard test of pid "
_SOURCES = Path(__file__).parents[2] / "src"
_ENTER = """
mount --make-rprivate /
code=$1; shift
for each in python packages sources; do mount --rbind "$1" "$code/$each"; shift; done
exec setpriv --reuid="$USER" --regid="$USER" --init-groups -- "$@"
"""


@dataclass(frozen=True)
class Account:
    """A user of this machine. Its home is a directory of mode 0700 outside the tests' own."""

    name: str
    uid: int
    gid: int
    home: Path

    @property
    def python(self) -> tuple[str, ...]:
        """This test's interpreter, as the account reaches it; `-m steelyard` is there."""
        return (str(self.home / ".code/python/bin" / Path(sys.executable).resolve().name),)

    @property
    def environment(self) -> dict[str, str]:
        """What a login would set, and what our code needs; nothing of this test's."""
        code = self.home / ".code"
        return {
            "USER": self.name,
            "LOGNAME": self.name,
            "HOME": str(self.home),
            "SHELL": "/bin/sh",
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "PYTHONPATH": f"{code / 'sources'}:{code / 'packages'}",
            "PYTHONHOME": str(code / "python"),
            "LD_LIBRARY_PATH": str(code / "python" / "lib"),  # of a Python that has its own, not the system's
            "PYTHONDONTWRITEBYTECODE": "1",
            "STEELYARD_TEST_SESSION": os.environ["STEELYARD_TEST_SESSION"],
        }

    def argv(self, *argv: str) -> list[str]:
        """Words that run a program as this account."""
        code = (sys.base_prefix, sysconfig.get_path("purelib"), str(_SOURCES))
        place = str(self.home / ".code")
        return ["unshare", "--mount", "sh", "-eu", "-c", _ENTER, "sh", place, *code, *argv]

    def run(self, *argv: str, env: dict[str, str] | None = None, **options: Any) -> Any:
        """Run a program to its end, as `subprocess.run` with captured text."""
        plain: dict[str, Any] = {"capture_output": True, "text": True, "cwd": self.home}
        return subprocess.run(
            self.argv(*argv), env=self.environment | (env or {}), check=False, **(plain | options)
        )

    def start(self, *argv: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        """Start a program, as `subprocess.Popen`; whatever is left of it ends with the account."""
        plain: dict[str, Any] = {"text": True, "cwd": self.home, "start_new_session": True}
        return subprocess.Popen(self.argv(*argv), env=self.environment | (env or {}), **(plain | options))

    def steelyard(self, *words: str, **options: Any) -> Any:
        """Run our command line to its end."""
        return self.run(*self.python, "-m", "steelyard", *words, **options)

    def owns(self, path: Path, content: str | None = None, mode: int | None = None) -> Path:
        """Make a file (or, without content, a directory) that belongs to this account."""
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.write_text(content)
        os.chown(path, self.uid, self.gid)
        if mode is not None:
            path.chmod(mode)
        return path


@contextlib.contextmanager
def account() -> Iterator[Account]:
    """An account for as long as the block lasts. Skips the test where it cannot be made."""
    for program in ("useradd", "userdel", "setpriv", "unshare"):
        if os.geteuid() != 0 or shutil.which(program) is None:
            pytest.skip(f"a second account needs root and {program}")
    _remove_forgotten()
    name = f"{_PREFIX}{secrets.token_hex(4)}"
    home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir="/var/tmp"))
    try:
        comment = f"{_COMMENT}{os.getpid()}"
        _as_root("useradd", "-M", "-U", "-d", str(home), "-s", "/bin/sh", "-p", "*", "-c", comment, name)
        entry = pwd.getpwnam(name)
        for part in ("python", "packages", "sources"):
            (home / ".code" / part).mkdir(parents=True)
        for path in (home, home / ".code"):
            os.chown(path, entry.pw_uid, entry.pw_gid)
        yield Account(name, entry.pw_uid, entry.pw_gid, home)
    finally:
        _remove(name, home)


def _as_root(*argv: str, done: Callable[[], bool] = lambda: False) -> None:
    """Change the accounts of this machine; another test may be at it, and hold their lock, or do the same."""
    for _ in range(100):
        ended = subprocess.run(argv, capture_output=True, text=True, check=False)
        if ended.returncode == 0 or done():
            return
        if "lock" not in ended.stderr:
            break
        time.sleep(0.1)
    pytest.skip(f"a second account cannot be made here: {ended.stderr.strip()}")


def _is_there(name: str) -> bool:
    return name in {entry.pw_name for entry in pwd.getpwall()}


def _remove(name: str, home: Path) -> None:
    with contextlib.suppress(KeyError):
        uid = pwd.getpwnam(name).pw_uid
        while pids := _processes(uid):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        _as_root("userdel", name, done=lambda: not _is_there(name))
    shutil.rmtree(home, ignore_errors=True)


def _processes(uid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                status = (entry / "status").read_text()
                if f"\nUid:\t{uid}\t" in status and "\nState:\tZ" not in status:
                    found.append(int(entry.name))
    return found


def _remove_forgotten() -> None:
    """Those of tests that were killed before they could."""
    for entry in pwd.getpwall():
        pid = re.fullmatch(f"{_COMMENT}([0-9]+)", entry.pw_gecos)
        if pid and entry.pw_name.startswith(_PREFIX) and not Path(f"/proc/{pid[1]}").exists():
            _remove(entry.pw_name, Path(entry.pw_dir))
