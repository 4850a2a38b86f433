"""The token that every process of a run bears in its environment, to be found by when all else is dead."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from steelyard.hosts.minder.processes import read_process

_NUMBER = r"(0|[1-9][0-9]{0,18})"
_RUN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
_FORM = re.compile(f"({_RUN}):{_NUMBER}:{_NUMBER}:{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Token:
    """Which run a process belongs to, and which controller drives that run.

    Written `<run>:<pid namespace>:<controller>:<controller_start>`. The namespace is the inode of
    /proc/self/ns/pid, the start in clock ticks since boot (field 22 of /proc/PID/stat): together with the pid
    they name one process for as long as the machine is up. Raises ValueError for a run id that is not made of
    letters, digits, dots, dashes and underscores.
    """

    run: str
    pid_namespace: int
    controller: int
    controller_start: int

    def __post_init__(self) -> None:
        if not _FORM.fullmatch(str(self)):
            raise ValueError(
                f"{str(self)!r} is not a token; a run id has letters, digits, '.', '-', '_', 200 at most"
            )

    def __str__(self) -> str:
        return f"{self.run}:{self.pid_namespace}:{self.controller}:{self.controller_start}"

    @classmethod
    def of(cls, run: str) -> Self:
        """Make the token of a run that this process drives."""
        me = read_process(os.getpid())
        if me is None:
            raise OSError("cannot read /proc/self/stat; is /proc mounted?")
        return cls(run, _pid_namespace(), me.pid, me.start)

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """Read a token that anybody may have written; None when it is none."""
        form = _FORM.fullmatch(text)
        return cls(form[1], *map(int, form.groups()[1:])) if form else None

    def is_local(self) -> bool:
        """Whether the controller lives among our pids."""
        return self.pid_namespace == _pid_namespace() and not self.is_dead()

    def is_dead(self) -> bool:
        """Whether the controller is certainly gone: it lived among our pids, and is not there any more."""
        if self.pid_namespace != _pid_namespace():
            return False
        entry = read_process(self.controller)
        if entry is None:
            return not _is_hidden(self.controller)
        return entry.start != self.controller_start or entry.is_dead


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _is_hidden(pid: int) -> bool:
    """Whether the process exists although /proc, mounted with hidepid, does not show it."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
