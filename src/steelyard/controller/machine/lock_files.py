"""Where the locks lie by which runs take turns on a machine, and whose turn it is."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import stat
import time
from pathlib import Path

from steelyard.hosts.machine import identify_machine
from steelyard.units import show_span

VARIABLE = "STEELYARD_RUNTIME_DIR"
MEASURES = "has been measuring on this machine"


def find_measuring_run() -> str | None:
    """Which run of ours measures on this machine now, as a clause; None without any."""
    try:
        turn = os.open(_lock_place() / "turn", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return None if try_lock(turn, fcntl.LOCK_SH) else describe_owner(turn)
    finally:
        os.close(turn)


def describe_owner(turn: int) -> str:
    """Whose turn it is, and for how long it has been."""
    run, _, rest = os.pread(turn, 500, 0).decode("utf-8", "replace").partition(" ")
    who, _, since = rest.rpartition(" ")
    if not (run and who and since.isdecimal()):
        return f"another run {MEASURES}"
    return f"run {run} of {who} {MEASURES} for {show_span(time.time() - int(since))}"


def try_lock(lock: int, how: int) -> bool:
    """Lock an open file, or say that another has it."""
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_lock(path: Path) -> int:
    """A lock's file, which is made where there is none. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def make_lock_folder() -> Path:
    """A directory of ours that all our runs on this machine find, whatever TMPDIR and XDG_… say in each.

    That of the session, where there is one; else one in our home, which other machines may share; else, for
    an account without a home that it may write to, one for temporary files. STEELYARD_RUNTIME_DIR names
    another. Raises OSError.
    """
    place = _lock_place()
    if VARIABLE not in os.environ:
        place.parent.mkdir(parents=True, exist_ok=True)
    return _make_private(place)


def _lock_place() -> Path:
    if named := os.environ.get(VARIABLE):
        return Path(named) / "steelyard"
    runtime = Path(f"/run/user/{os.getuid()}")
    if _is_private(runtime):
        return runtime / "steelyard"
    if (home := _home()) and _can_write(place := home / ".cache" / "steelyard"):
        return place / f"runs-{identify_machine()}"
    return Path(f"/var/tmp/steelyard-{os.getuid()}")  # noqa: S108 - made, or refused


def _home() -> Path | None:
    """Ours, as the list of accounts has it; a container may run as a user whom that does not know."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None
    return home if home.is_absolute() and home.is_dir() else None


def _can_write(place: Path) -> bool:
    """Whether we may make something there, once it and what leads to it is made."""
    return os.access(next(each for each in (place, *place.parents) if each.exists()), os.W_OK)


def _make_private(path: Path) -> Path:
    """Raises FileNotFoundError for one that the last run has taken away just now, PermissionError."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not _is_closed_to_others(path.lstat()):
            why = "it belongs to another account, or others can write to it"
            raise PermissionError(errno.EPERM, why, str(path)) from None
    except FileNotFoundError:
        raise NotADirectoryError(errno.ENOTDIR, "no such directory", str(path.parent)) from None
    return path


def _is_private(path: Path) -> bool:
    try:
        return _is_closed_to_others(path.lstat())
    except FileNotFoundError:
        return False


def _is_closed_to_others(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022
