"""Tools from PyPI: wheels, so nothing is built or run, and each with its hash, those that it needs included.

`make lock` writes the files of `locks/`. They name no address: where pip fetches from is the user's affair.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

from steelyard.errors import PlugInError
from steelyard.model.tool import Tool

LOCKS = Path(__file__).parent / "locks"


def source(tool: Tool) -> Path:
    """The file of requirements with their hashes; that of a plug-in's tool may lie anywhere."""
    return LOCKS / tool.pip


def sources(tool: Tool) -> tuple[Path]:
    """The same, as what it is made from."""
    return (source(tool),)


def digest(tool: Tool) -> str:
    """Of the lock: a tool that was made from another is to be made again. Raises PlugInError."""
    try:
        return hashlib.sha256(source(tool).read_bytes()).hexdigest()
    except OSError as error:
        hint = (
            "a tool's `pip` must be the path of a requirements file with hashes; write one with `uv pip "
            "compile`"
        )
        why = f"its lock file {source(tool)} cannot be read: {error.strerror}"
        raise PlugInError(f"{tool.name} cannot be installed: {why}", hint=hint) from error


def build_commands(
    _: Tool, place: PurePath, sources: Sequence[PurePath], python: str = sys.executable
) -> tuple[tuple[str, ...], ...]:
    """What would put a tool into a virtual environment of its own; `sources` is where its lock lies there."""
    pip = (str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    pinned = ("--require-hashes", "--only-binary", ":all:", "--requirement", str(sources[0]))
    return ((python, "-m", "venv", str(place)), (*pip, *pinned))
