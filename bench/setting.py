"""Where and how thoroughly to measure, and how the other programs are called."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Setting:
    """`place` is a directory of our own on a real disk; `quick` is for a first impression."""

    place: Path
    quick: bool = False

    @property
    def turns(self) -> int:
        """How often the sides of a comparison take turns."""
        return 2 if self.quick else 7

    @property
    def trials(self) -> int:
        """Trials in a run."""
        return 50 if self.quick else 200

    def folder(self, name: str) -> Path:
        """A directory in our place."""
        path = self.place / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def fresh(self, name: str) -> Path:
        """A new directory in our place. Nothing is deleted while anything is measured: see `bench.trial`."""
        path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.place))
        path.chmod(0o711)  # servers that give up root must be able to enter
        return path

    @property
    def bytecode(self) -> dict[str, str]:
        """Let Python keep compiled modules, ours and those of peers, as it does for whoever installs them.

        Where the environment forbids that, every start would compile a thousand files first.
        """
        return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.folder("bytecode"))}

    @property
    def environment(self) -> dict[str, str]:
        """The user's, with stores, scratch and locks in our place: no other run is waited for."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
        return {
            **kept,
            "STEELYARD_STORE": str(self.folder("store")),
            "STEELYARD_SCRATCH": str(self.folder("scratch")),
            "TMPDIR": str(self.folder("tmp")),
            "STEELYARD_RUNTIME_DIR": str(self.folder("tmp")),
        }


@contextmanager
def changed(variables: Mapping[str, str]) -> Iterator[None]:
    """Our own environment with these changes, for as long as the block lasts."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def beside_python(program: str) -> Path | None:
    """A program of the virtual environment that runs us; None when it is not there."""
    path = Path(sys.executable).with_name(program)
    return path if path.is_file() else None


def steelyard(*arguments: str) -> tuple[str, ...]:
    """The command line of Steelyard as a user's shell would start it."""
    script = beside_python("steelyard")
    return (str(script), *arguments) if script else (sys.executable, "-m", "steelyard", *arguments)
