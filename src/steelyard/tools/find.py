"""Which tools are there, which are missing, and what would bring them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from steelyard.model.tool import Tool

_MANAGERS = (("apt-get", "apt", ("apt-get", "install", "-y")), ("dnf", "dnf", ("dnf", "install", "-y")))


def missing(needs: Iterable[Tool]) -> list[Tool]:
    """The tools that are not on PATH, each once."""
    return [tool for tool in dict.fromkeys(needs) if shutil.which(tool.name) is None]


def install_command(tools: Iterable[Tool]) -> tuple[str, ...] | None:
    """What would install them with this machine's package manager; None when it has none that knows them."""
    wanted = list(tools)
    for program, attribute, argv in _MANAGERS:
        packages = [getattr(tool, attribute) for tool in wanted]
        if shutil.which(program) and packages and all(packages):
            return (*argv, *sorted(set(packages)))
    return None
