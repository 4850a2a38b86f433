"""Programs of ours that come with the package, built for each kind of machine: `make probe`.

Nothing is fetched or compiled on a host: a run copies them to its hosts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from steelyard.errors import SteelyardError
from steelyard.model.tool import Tool

# The file is complete before it has its name: other runs may be starting the program.
_COPY = """set -eu
built=$1/$2-$(uname -m)
if [ ! -f "$built" ]; then
    echo "$2 was not built for $(uname -m): run make probe in a checkout on such a machine," \\
        "and copy the file into the folder workloads/kit/bin of the package" >&2
    exit 1
fi
mkdir -p "$0/bin"
new=$(mktemp "$0/bin/.new.XXXXXXXX")
trap 'rm -f "$new"' EXIT
cp "$built" "$new"
chmod 755 "$new"
mv -f "$new" "$0/bin/$2"
"""


def is_built(tool: Tool) -> bool:
    """For any kind of machine."""
    return bool(_list_programs(tool))


def find_here(tool: Tool) -> Path:
    """The one for this machine. Raises SteelyardError where it was not built."""
    path = Path(tool.bundled) / f"{tool.name}-{os.uname().machine}"
    if not path.is_file():
        hint = "`make probe` builds it in a checkout of Steelyard; it needs a C compiler, and Rust"
        raise SteelyardError(f"{tool.name} was not built for {os.uname().machine}", hint=hint)
    return path


def sources(tool: Tool) -> tuple[Path]:
    """The folder that has it for each kind of machine. Raises SteelyardError where it was not built."""
    if not is_built(tool):
        hint = "`make probe` builds it in a checkout of Steelyard; it needs rustc and cargo"
        raise SteelyardError(f"{tool.name} is a program of Steelyard's own that was not built", hint=hint)
    return (Path(tool.bundled),)


def digest(tool: Tool) -> str:
    """Of the programs for all kinds of machine: one that was copied from others is copied again."""
    hasher = hashlib.sha256()
    for path in _list_programs(tool):
        content = path.read_bytes()
        hasher.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()


def build_commands(
    tool: Tool, place: PurePath, sources: Sequence[PurePath], _: str = ""
) -> tuple[tuple[str, ...], ...]:
    """What would copy the one for the host's machine into a place of its own."""
    return (("sh", "-c", _COPY, str(place), str(sources[0]), tool.name),)


def _list_programs(tool: Tool) -> list[Path]:
    return sorted(Path(tool.bundled).glob(f"{tool.name}-*"))
