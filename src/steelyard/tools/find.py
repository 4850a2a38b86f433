"""Which tools are there, which are missing, and what would bring them."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Container, Iterable, Sequence
from pathlib import Path, PurePath
from types import ModuleType

from steelyard.model.tool import Tool
from steelyard.tools import compiled, crates, maven, pypi

MANAGERS = (("apt-get", "apt", ("apt-get", "install", "-y")), ("dnf", "dnf", ("dnf", "install", "-y")))
COMPLETE = "complete"
"""Written last into the place of a tool: what it was made from. Made from anything else, it is made again."""
_MARK = 'printf %s "$1" > "$0"'


def find_missing(needs: Iterable[Tool]) -> list[Tool]:
    """The tools that are neither on PATH nor in an environment of their own, each once."""
    return [tool for tool in dict.fromkeys(needs) if not _is_installed(tool)]


def install_directory(tool: Tool) -> Path:
    """Where a tool that is not a package of the system has a place of its own; as in `Tool.argv`."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "steelyard" / "tools" / tool.name


def install_command(tools: Iterable[Tool], managers: Container[str] | None = None) -> tuple[str, ...] | None:
    """What would install them with a package manager of `managers`, by default this machine's.

    None when none of them knows them all.
    """
    wanted = list(tools)
    for program, attribute, argv in MANAGERS:
        packages = [getattr(tool, attribute) for tool in wanted]
        there = shutil.which(program) if managers is None else program in managers
        if there and packages and all(packages):
            return (*argv, *sorted(set(packages)))
    return None


def local_commands(tool: Tool) -> tuple[tuple[str, ...], ...]:
    """What would install a tool that is no package of the system, without root, and mark it complete at last.

    Nothing is built, run or unpacked before its hash was compared with the one that is pinned here.
    """
    return host_commands(tool, install_directory(tool), sources(tool), sys.executable)


def host_commands(
    tool: Tool, place: PurePath, sources: Sequence[PurePath], python: str = "python3"
) -> tuple[tuple[str, ...], ...]:
    """The same for any host: into `place` there, from what it is built from, which lies at `sources`."""
    kind = _choose_installer(tool)
    return (
        ("rm", "-rf", str(place)),
        *kind.build_commands(tool, place, sources, python),
        ("sh", "-c", _MARK, str(place / COMPLETE), digest(tool)),
    )


def sources(tool: Tool) -> tuple[Path, ...]:
    """What a tool that is not a package of the system is built from: files and folders."""
    paths: tuple[Path, ...] = _choose_installer(tool).sources(tool)
    return paths


def digest(tool: Tool) -> str:
    """Of all that is pinned of it; what was made from anything else is made again."""
    return str(_choose_installer(tool).digest(tool))


def _choose_installer(tool: Tool) -> ModuleType:
    """Each has `sources`, `build_commands`, into a place that is not there yet, and `digest`."""
    if tool.compiled:
        return compiled
    return maven if tool.maven else crates if tool.cargo else pypi


def _is_installed(tool: Tool) -> bool:
    program = tool.program if tool.maven else tool.name
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_places(tool)])
    on_path = shutil.which(program, path=path) is not None
    return on_path or (tool.has_own_directory and _is_complete(tool))


def _places(tool: Tool) -> list[str]:
    return [place for pattern in tool.places for place in glob.glob(pattern)]  # noqa: PTH207 - absolute


def _is_complete(tool: Tool) -> bool:
    mark = install_directory(tool) / COMPLETE
    return mark.is_file() and mark.read_text() == digest(tool)
