"""Tools that Maven builds: a project each in `java/`, beside this file, where any installed Steelyard has it.

A project has `pom.xml`, which takes the property `out`, puts all jars into `${out}/lib` and writes nowhere
else; `bin/`, its programs; and `jars.sha256`, a line for each jar that is fetched, in the order of names.
Ours begin with `steelyard-`. Where Maven fetches from is its own affair: its default, or the user's settings.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

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


def digest(tool: Tool) -> str:
    """Of all sources: a tool that was built from others is to be built again."""
    name, found = tool.name, hashlib.sha256()
    for path in sorted(path for path in project(name).rglob("*") if path.is_file()):
        content = path.read_bytes()
        found.update(f"{path.relative_to(project(name))}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def build_commands(tool: Tool, place: Path) -> tuple[tuple[str, ...], ...]:
    """What would build a tool into a place of its own: fetch, compile, compare the jars."""
    sources = project(tool.name)
    programs = sorted(str(path) for path in (sources / "bin").glob("*"))
    pom = ("--file", str(sources / "pom.xml"), f"-Dout={place}", "package")
    return (
        ("mvn", "--batch-mode", "--quiet", "--strict-checksums", *pom),
        ("sh", "-c", _COMPARE, str(sources / "jars.sha256"), str(place)),
        ("install", "-D", "-m", "755", "-t", str(place / "bin"), *programs),
    )
