"""Tools from crates.io: the crate by its hash, and all that it needs by those that it has locked itself.

`cargo install` would build what the registry says is this version. So the archive is only fetched at first,
then compared, and built from what was compared, whose `Cargo.lock` holds the hash of each dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from steelyard.model.tool import Tool


def digest(tool: Tool) -> str:
    """Of the archive: a tool that was built from another is to be built again."""
    return tool.sha256


def sources(_: Tool) -> tuple[Path]:
    """The script that builds it."""
    return (Path(__file__).with_name("build-crate"),)


def build_commands(
    tool: Tool, place: PurePath, sources: Sequence[PurePath], _: str = ""
) -> tuple[tuple[str, ...], ...]:
    """What would build a crate into a place of its own; `sources` is where the script lies there."""
    name, _, version = tool.cargo.partition("@")
    return (("sh", str(sources[0]), str(place), name, version, tool.sha256),)
