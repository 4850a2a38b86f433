"""How the minder starts a program."""

from __future__ import annotations

import errno
import os
import signal

from .processes import read_own_peak
from .spawner import make_spawner, read_numbers

TYPE_CHECKING = False  # importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

ALL_SIGNALS = tuple(int(number) for number in signal.valid_signals())
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class SpawnError(Exception):
    """A program could not be started: what was at fault, as in `failed` messages, and why."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(what, number)
        self.what, self.errno = what, number


def attempt(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function, and say what was at fault when it fails."""
    try:
        return function(*arguments)
    except OSError as error:
        raise SpawnError(what, error.errno or errno.EIO) from error
    except ValueError as error:
        raise SpawnError(what, errno.EINVAL) from error


class Spawner:
    """Starts programs."""

    def __init__(self) -> None:
        self.small = make_spawner()

    def spawn(
        self, argv: list[bytes], env: dict[bytes, bytes], cwd: bytes, paths: tuple[bytes, ...]
    ) -> tuple[int, int]:
        """Start a program whose streams are at three paths; return its pid, and its least peak.

        That is what the kernel counts as its memory, in bytes, whatever it is. Raises SpawnError.
        """
        attempt("directory", os.chdir, cwd)
        streams: list[int] = []
        try:
            open_streams(streams, *paths)
            name, path = argv[0] if argv else b"", env.get(b"PATH", os.defpath.encode())
            program = attempt("program", find_program, name, path)
            return attempt("program", self.launch, program, argv, env, streams)
        finally:
            for fd in streams:
                os.close(fd)
            os.chdir("/")  # so that the directory can be removed or unmounted

    def launch(
        self, program: bytes, argv: list[bytes], env: dict[bytes, bytes], streams: list[int]
    ) -> tuple[int, int]:
        """Start a program through the small one; by ourselves where that cannot be."""
        if self.small is not None and (
            pid := launch_through_helper(self.small, [program, *argv], env, streams)
        ):
            return pid, 0
        return launch(program, argv, env, streams, setsid=True), read_own_peak()


def open_streams(streams: list[int], stdin: bytes, stdout: bytes, stderr: bytes) -> None:
    """Open standard input, output and error; the last two share one open file when their paths are equal."""
    streams.append(attempt("stdin", open_stream, stdin, os.O_RDONLY))
    streams.append(attempt("stdout", open_stream, stdout, WRITE))
    if stderr == stdout:
        streams.append(attempt("stderr", os.dup, streams[1]))
    else:
        streams.append(attempt("stderr", open_stream, stderr, WRITE))


def open_stream(path: bytes, flags: int) -> int:
    """Open a file; without waiting, should it be a named pipe whose other end nobody holds."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o666)
    os.set_blocking(fd, True)
    return fd


def find_program(name: bytes, path: bytes) -> bytes:
    """Return what a shell in the current directory would run for this name, given this PATH."""
    if b"/" in name:
        return name
    reason = errno.ENOENT
    for directory in path.split(b":") if name else ():
        candidate = (directory or b".") + b"/" + name
        if os.path.isfile(candidate):  # noqa: PTH113 - importing pathlib takes 4 ms
            if os.access(candidate, os.X_OK):
                return candidate
            reason = errno.EACCES
    raise OSError(reason, os.strerror(reason))


def launch_through_helper(
    small: int, words: list[bytes], env: dict[bytes, bytes], streams: list[int]
) -> int | None:
    """Have the small program start another; None where it cannot: under an emulator, with too many words."""
    heard, tells = os.pipe()
    try:
        between = launch(f"/proc/{os.getpid()}/fd/{small}".encode(), words, env, [*streams, tells])
    except OSError:
        os.close(heard)
        return None
    finally:
        os.close(tells)
    told = read_numbers(heard)
    os.waitpid(between, 0)
    pid, fault = max(told, default=0), -min(told, default=0)
    if pid > 0 and fault > 0:
        os.waitpid(pid, 0)
        raise OSError(fault, os.strerror(fault))
    return pid if pid > 0 else None


def launch(
    program: bytes, argv: list[bytes], env: dict[bytes, bytes], streams: list[int], *, setsid: bool = False
) -> int:
    """Start a program with default signals and no other open files."""
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(streams)]
    return os.posix_spawn(
        program, argv, env, file_actions=actions, setsid=setsid, setsigmask=(), setsigdef=ALL_SIGNALS
    )


def open_pidfd(pid: int) -> int:
    """Return a descriptor that becomes readable when our child ends; without one the child may not live."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.kill(pid, signal.SIGKILL)
        raise
