"""What records on this machine, which `make probe` builds: the library, or the passthrough."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.hosts.capturing import WAYS, preload_variables, write_passthrough
from steelyard.tools.bundled import find_here


@dataclass(frozen=True, slots=True)
class Recorder:
    """How programs are recorded: `name` of `hosts.capturing.WAYS`, and the `program` or library that does it.

    `over`: the directories that a program sees through FUSE, where it is that.
    """

    name: str
    program: Path
    over: tuple[str, ...] = ()

    def surround(self, argv: Sequence[str], segments: Path) -> tuple[list[str], dict[str, str]]:
        """The words and variables under which a program is recorded into a directory."""
        place, variables = segments.absolute(), dict(os.environ)
        if self.name == "io":
            others = variables.get("LD_PRELOAD", "")
            return list(argv), variables | preload_variables(self.program, place, others)
        before = write_passthrough([str(self.program)], self.name, str(place), self.over)
        return [*before, *argv], variables


def find_recorder(way: str = "io") -> Path:
    """Raises SteelyardError where it was not built."""
    return find_here(WAYS[way])


def choose_recorder(name: str, over: tuple[str, ...] = ()) -> Recorder:
    """Raises SteelyardError where what it takes was not built."""
    return Recorder(name, find_recorder(name), over)
