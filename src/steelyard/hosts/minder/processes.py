"""Processes as /proc shows them, and how a whole tree of them is ended."""

from __future__ import annotations

import os
import signal
import time

TYPE_CHECKING = False  # importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Any, TypeVar

    T = TypeVar("T", bound=Hashable)

ENVIRON_LIMIT = 6 << 20  # bytes; execve(2): arguments and environment together are never larger
PF_KTHREAD = 0x00200000
EXEC_WITHIN = 0.2  # seconds; longer than any exec but one from a file server that hangs


class ProcessStat:
    """What /proc/PID/stat says (proc_pid_stat(5)).

    `start` is in clock ticks since boot; `bare` says that it certainly has no environment.
    """

    __slots__ = ("bare", "parent", "pid", "session", "start", "state")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid, self.state = pid, fields[0]
        self.parent, self.session, self.start = int(fields[1]), int(fields[3]), int(fields[19])
        empty = fields[47] == fields[48] != b"0"  # both are 0 in the middle of an exec
        self.bare = self.is_dead or empty or bool(int(fields[6]) & PF_KTHREAD)

    @property
    def is_dead(self) -> bool:
        """Whether it has ended and only waits to be collected by its parent."""
        return self.state in (b"Z", b"X")


def read_proc(path: str, limit: int = 4096) -> bytes:
    """Return at most `limit` bytes of a file in /proc; nothing if its process is gone.

    Raises PermissionError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return b""
    parts: list[bytes] = []
    try:
        while limit > 0 and (part := os.read(fd, min(limit, 1 << 16))):
            parts.append(part)
            limit -= len(part)
    except ProcessLookupError:
        return b""
    finally:
        os.close(fd)
    return b"".join(parts)


def read_process(pid: int) -> ProcessStat | None:
    """Return the process with this pid, or None when there is none."""
    # The name of the program stands in parentheses and may itself hold blanks and parentheses.
    fields = read_proc(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return ProcessStat(pid, fields) if len(fields) > 48 else None


def read_own_peak() -> int:
    """Return the largest memory that we ever had, in bytes."""
    _, _, rest = read_proc("/proc/self/status").partition(b"VmHWM:")
    return int(rest.split()[0]) * 1024 if rest else 0


def list_pids() -> list[int]:
    """Return the pids of all processes that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - pathlib takes 4 ms


def list_processes() -> dict[int, ProcessStat]:
    """Return all processes that can be seen, by pid."""
    return {pid: entry for pid in list_pids() if (entry := read_process(pid))}


def descendants(table: dict[int, ProcessStat], roots: Iterable[int]) -> set[int]:
    """Return the pids of the roots and of everything below them."""
    children: dict[int, list[int]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry.pid)
    members: set[int] = set()
    ahead = list(roots)
    while ahead:
        pid = ahead.pop()
        if pid not in members:
            members.add(pid)
            ahead += children.get(pid, ())
    return members


def read_environment(pid: int) -> bytes:
    """Return the environment a process was started with, each variable between two NUL; empty if hidden.

    In the middle of an exec a process shows none; whoever believed that would take it for a stranger.
    """
    deadline = time.monotonic() + EXEC_WITHIN
    try:
        while not (content := read_proc(f"/proc/{pid}/environ", ENVIRON_LIMIT)):
            entry = read_process(pid)
            if entry is None or entry.bare or time.monotonic() > deadline:
                break
            time.sleep(0.0005)
    except PermissionError:
        return b""
    return b"\0" + content


def find_variable(environ: bytes, name: str) -> str | None:
    """Return the value of a variable of such an environment, None when it is not set."""
    _, separator, rest = environ.partition(b"\0" + name.encode() + b"=")
    return rest.partition(b"\0")[0].decode("utf-8", "surrogateescape") if separator else None


def send(pid: int, number: int) -> bool:
    """Signal a process; False when it is gone. Raises PermissionError for a set-user-id program."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def kill_all(look: Callable[[], set[T]], signal_one: Callable[[T, int], bool]) -> set[T]:
    """Kill all that `look` finds and return them, without those that were gone or may not be signalled.

    All are frozen before the first is killed, and looking goes on until nothing new is found: a frozen
    process does not fork, so a program that forks faster than we look cannot win.
    """
    frozen: set[T] = set()
    untouchable: set[T] = set()
    while fresh := look() - frozen - untouchable:
        for one in fresh:
            try:
                signal_one(one, signal.SIGSTOP)
                frozen.add(one)
            except PermissionError:
                untouchable.add(one)
    return {one for one in frozen if signal_one(one, signal.SIGKILL)}


def reap(bury: Callable[[int, int, Any], object]) -> bool:
    """Collect every dead child without waiting, each as `bury(pid, status, rusage)`.

    False when no child is left at all.
    """
    while True:
        try:
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        if dead is None:
            return True
        bury(*os.wait4(dead.si_pid, 0))
