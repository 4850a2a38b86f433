"""Which tools are there, which are missing, and what would bring them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from steelyard.model.tool import Tool

_MANAGERS = (("apt-get", "apt", ("apt-get", "install", "-y")), ("dnf", "dnf", ("dnf", "install", "-y")))
_COMPLETE = "complete"  # written last into a virtual environment


def missing(needs: Iterable[Tool]) -> list[Tool]:
    """The tools that are neither on PATH nor in an environment of their own, each once."""
    return [tool for tool in dict.fromkeys(needs) if not _is_here(tool)]


def environment(tool: Tool) -> Path:
    """Where a tool from PyPI has its virtual environment; the same place as in `Tool.argv`."""
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
    """What would install a tool from PyPI, without root. Only wheels: nothing of it is built or run here."""
    place = environment(tool)
    pip = (str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:")
    return (
        (sys.executable, "-m", "venv", str(place)),
        (*pip, tool.pip),
        ("touch", str(place / _COMPLETE)),
    )


def _is_here(tool: Tool) -> bool:
    on_path = shutil.which(tool.name) is not None
    return on_path or (bool(tool.pip) and (environment(tool) / _COMPLETE).is_file())
