"""Which tools are there, which are missing, and what would bring them."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from steelyard.model.tool import Tool
from steelyard.tools import maven

_MANAGERS = (("apt-get", "apt", ("apt-get", "install", "-y")), ("dnf", "dnf", ("dnf", "install", "-y")))
_COMPLETE = "complete"  # written last into the place of a tool


def missing(needs: Iterable[Tool]) -> list[Tool]:
    """The tools that are neither on PATH nor in an environment of their own, each once."""
    return [tool for tool in dict.fromkeys(needs) if not _is_here(tool)]


def environment(tool: Tool) -> Path:
    """Where a tool from PyPI, crates.io or Maven has a place of its own; the same as in `Tool.argv`."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "steelyard" / "tools" / tool.name


def install_command(tools: Iterable[Tool]) -> tuple[str, ...] | None:
    """What would install them with this machine's package manager; None when it has none that knows them."""
    wanted = list(tools)
    for program, attribute, argv in _MANAGERS:
        packages = [getattr(tool, attribute) for tool in wanted]
        if shutil.which(program) and packages and all(packages):
            return (*argv, *sorted(set(packages)))
    return None


def environment_commands(tool: Tool) -> tuple[tuple[str, ...], ...]:
    """What would install a tool from PyPI, crates.io or Maven, without root.

    From PyPI only wheels: nothing of it is built or run here. A crate is built here, from what it has locked.
    """
    place = environment(tool)
    if tool.maven:
        return maven.build_commands(tool.name, place, place / _COMPLETE)
    complete = ("touch", str(place / _COMPLETE))
    if tool.cargo:
        return (("cargo", "install", "--quiet", "--locked", "--root", str(place), tool.cargo), complete)
    pip = (str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:")
    return ((sys.executable, "-m", "venv", str(place)), (*pip, tool.pip), complete)


def _is_here(tool: Tool) -> bool:
    program = tool.program if tool.maven else tool.name
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_places(tool)])
    found = shutil.which(program, path=path) is not None
    return found or (tool.in_place_of_its_own and _is_complete(tool))


def _places(tool: Tool) -> list[str]:
    return [place for pattern in tool.places for place in glob.glob(pattern)]  # noqa: PTH207 - absolute


def _is_complete(tool: Tool) -> bool:
    mark = environment(tool) / _COMPLETE
    return mark.is_file() and (not tool.maven or mark.read_text() == maven.digest(tool.name))
