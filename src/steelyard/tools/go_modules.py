"""Tools that Go builds, each from a module in the folder that its `Tool` names.

The folder has `go.mod`, whose directive `tool` names the programs; `go.sum`, the hashes of all modules; and
`requirements.txt`, the Go that builds it, from PyPI and by its hashes: a distribution's is often too old.
Where Go fetches modules from is its own affair: its default, or the user's GOPROXY.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

from steelyard.model.tool import Tool
from steelyard.tools.folders import hash_folders


def sources(tool: Tool) -> tuple[Path, ...]:
    """The script that builds it, and the module."""
    return (Path(__file__).with_name("build-go-module"), Path(tool.go))


def digest(tool: Tool) -> str:
    """Of the module: a tool that was built from another is to be built again."""
    return hash_folders([Path(tool.go)])


def build_commands(
    _: Tool, place: PurePath, sources: Sequence[PurePath], python: str = sys.executable
) -> tuple[tuple[str, ...], ...]:
    """What would build a module's programs into a place of its own; `sources` are where they lie there."""
    script, module = map(str, sources)
    return (("sh", script, str(place), module, python),)
