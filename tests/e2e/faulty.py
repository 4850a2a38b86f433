"""A fork server that runs `steelyard` and strikes it down at a chosen instant.

Steelyard is imported once; each line of JSON on standard input, `{argv, cwd, env, out, fault}`, is answered
by forking a copy, which runs that command line, and by a line `{pid, status, counts}` when it has ended. A
fault `{kind, nth, when, signal}` sends the copy a signal at its `nth` use of a kind of system call: `before`
it, `after` it, or (for a write to the journal) in the middle of it, `torn`; `then` is a second fault, counted
from the first. The counts of a copy that ended by itself say which instants there are.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What a run imports, so that a copy has it at once, as `import` itself is not what is tested here.
import numpy  # noqa: F401

import steelyard.cli.app
import steelyard.cli.clean
import steelyard.cli.finish
import steelyard.cli.list
import steelyard.cli.progress
import steelyard.cli.resume
import steelyard.cli.run
import steelyard.controller.clean
import steelyard.controller.run
import steelyard.sites.local
import steelyard.spec.load
import steelyard.workloads.command

PATIENCE = 300.0  # seconds after which a copy hangs
OF_OS = (
    *("close", "fdatasync", "ftruncate", "listdir", "mkdir", "open", "pidfd_open", "posix_fallocate"),
    *("posix_spawn", "pwrite", "read", "rename", "replace", "rmdir", "scandir", "stat", "statvfs", "unlink"),
    *("waitpid", "write"),
)
AUDITED = ("fcntl.", "open", "os.", "shutil.", "signal.", "socket.", "subprocess.", "tempfile.", "time.")


class Faults:
    """Counts the uses of each kind of call, and strikes at one of them."""

    def __init__(self, fault: dict[str, Any] | None, fired: str) -> None:
        self.counts: Counter[str] = Counter()
        self._fault, self._fired = fault or {}, fired
        self._write, self._mark = os.write, os.mkdir

    def install(self) -> None:
        """Wrap everything; there is no way back."""
        os.write = self._journal(os.write)
        for name in OF_OS:
            setattr(os, name, self._around(f"os.{name}", getattr(os, name)))
        fcntl.flock = self._around("flock", fcntl.flock)
        signal.signal = self._around("signal", signal.signal)
        time.sleep = self._around("sleep", time.sleep)
        for name in ("send", "recv", "shutdown", "close"):
            setattr(socket.socket, name, self._around(f"socket.{name}", getattr(socket.socket, name)))
        selectors.EpollSelector.select = self._around("epoll", selectors.EpollSelector.select)  # type: ignore[method-assign]
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _: Any) -> None:
        if event.startswith(AUDITED):
            self._strike(f"audit {event}", self._count(f"audit {event}"), "before")

    def _around(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **more: Any) -> Any:
            number = self._count(kind)
            self._strike(kind, number, "before")
            try:
                return function(*args, **more)
            finally:
                self._strike(kind, number, "after")

        return wrapped

    def _journal(self, write: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
        def wrapped(fd: int, data: bytes) -> int:
            if Path(f"/proc/self/fd/{fd}").readlink().name != "journal.ndjson":
                return write(fd, data)
            number = self._count("journal")
            self._strike("journal", number, "before")
            if self._due("journal", number, "torn"):
                write(fd, data[: -1 if number % 4 == 0 else len(data) * number // 16])
                self._strike("journal", number, "torn")
            written = write(fd, data)
            self._strike("journal", number, "after")
            return written

        return wrapped

    def _count(self, kind: str) -> int:
        self.counts[kind] += 1
        return self.counts[kind]

    def _due(self, kind: str, number: int, when: str) -> bool:
        fault = self._fault
        return bool(fault) and (kind, number, when) == (fault["kind"], fault["nth"], fault["when"])

    def _strike(self, kind: str, number: int, when: str) -> None:
        if self._due(kind, number, when):
            number_of_signal, self._fault = self._fault["signal"], self._fault.get("then") or {}
            if not self._fault:  # there is no other to come
                with contextlib.suppress(FileExistsError):
                    self._mark(self._fired)
            self.counts.clear()  # what follows is counted anew, for a second fault
            os.kill(os.getpid(), number_of_signal)


def copy(request: dict[str, Any], out: int, counts: int) -> int:
    """Be the command; return its exit code."""
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.update(request["env"])
    tempfile.tempdir = None
    nothing = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(old, new)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))
    sys.argv = ["steelyard", *request["argv"]]
    steelyard.cli.finish._write_report = lambda record: None  # it takes a second, when all is over
    faults = Faults(request.get("fault"), request["out"] + ".fired")
    write = os.write
    faults.install()
    try:
        code = steelyard.cli.app.run()
    finally:
        write(counts, json.dumps(faults.counts).encode())
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Fork a copy and wait for its end."""
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    out, counts = (os.open(request["out"] + suffix, flags) for suffix in ("", ".counts"))
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = copy(request, out, counts)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            with contextlib.suppress(BaseException):
                sys.stderr.flush()
            os._exit(code)
    status = wait(pid)
    counted = os.pread(counts, 1 << 20, 0)
    os.close(out)
    os.close(counts)
    return {"pid": pid, "status": status, "counts": json.loads(counted or "{}")}


def wait(pid: int) -> int | None:
    """The exit code, minus the signal, or None for a copy that hung and was killed."""
    poll = selectors.PollSelector()
    pidfd = os.pidfd_open(pid)
    poll.register(pidfd, selectors.EVENT_READ)
    in_time = poll.select(PATIENCE)
    if not in_time:
        os.kill(pid, signal.SIGKILL)
    os.close(pidfd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if in_time else None


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)
