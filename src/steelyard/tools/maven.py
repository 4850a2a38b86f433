"""Tools that Maven builds: a project each in `java/`, beside this file, where any installed Steelyard has it.

A project has `pom.xml`, which takes the property `out`, puts all jars into `${out}/lib` and writes nowhere
else; `bin/`, its programs; and `jars.sha256`, a line for each jar that is fetched, in the order of names.
Ours begin with `steelyard-`. Where Maven fetches from is its own affair: its default, or the user's settings.
"""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath

from steelyard.model.tool import Tool

BUILDERS = (
    Tool("mvn", apt="maven", dnf="maven"),
    Tool("javac", apt="openjdk-17-jdk-headless", dnf="java-17-openjdk-devel"),
)
_COMPARE = """export LC_ALL=C; cd "$1/lib"
ls | grep -v '^steelyard-' | xargs sha256sum | diff "$0" - >&2
"""


def project(name: str) -> Path:
    """Where the sources of a tool lie."""
    return Path(__file__).parent / "java" / name


def source(tool: Tool) -> Path:
    """The same, of the tool itself."""
    return project(tool.name)


def digest(tool: Tool) -> str:
    """Of all sources: a tool that was built from others is to be built again."""
    sources, hasher = source(tool), hashlib.sha256()
    for path in sorted(path for path in sources.rglob("*") if path.is_file()):
        content = path.read_bytes()
        hasher.update(f"{path.relative_to(sources)}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()


def build_commands(
    tool: Tool, place: PurePath, sources: PurePath, _: str = ""
) -> tuple[tuple[str, ...], ...]:
    """What would build a tool into a place of its own: fetch, compile, compare the jars."""
    programs = sorted(str(sources / "bin" / path.name) for path in (source(tool) / "bin").iterdir())
    pom = ("--file", str(sources / "pom.xml"), f"-Dout={place}", "package")
    return (
        ("mvn", "--batch-mode", "--quiet", "--strict-checksums", *pom),
        ("sh", "-c", _COMPARE, str(sources / "jars.sha256"), str(place)),
        ("install", "-D", "-m", "755", "-t", str(place / "bin"), *programs),
    )
