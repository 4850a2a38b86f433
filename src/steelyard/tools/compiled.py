"""Tools that are compiled on the host that runs them, each from the folder of sources that its `Tool` names.

Such a folder has `build`, a script for POSIX sh, which is given the place and the name of the tool, and puts
the program into `bin/` there. It names the packages that bring what is missing: compilers and libraries are
the host's own, as a cluster has them tuned for its network and its file system.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from steelyard.model.tool import Tool
from steelyard.tools.folders import hash_folders


def sources(tool: Tool) -> tuple[Path]:
    """The folder."""
    return (Path(tool.compiled),)


def digest(tool: Tool) -> str:
    """Of all sources: a tool that was built from others is to be built again."""
    return hash_folders(sources(tool))


def build_commands(
    tool: Tool, place: PurePath, sources: Sequence[PurePath], _: str = ""
) -> tuple[tuple[str, ...], ...]:
    """What would build a tool into a place of its own; `sources` is where its folder lies there."""
    return (("sh", str(sources[0] / "build"), str(place), tool.name),)
