"""Tools that Maven builds, each from a project in the folder that its `Tool` names.

A project has `pom.xml`, which takes the property `out`, puts all jars into `${out}/lib` and writes nowhere
else; `bin/`, its programs; and `jars.sha256`, a line for each jar that is fetched. Ours begin with
`steelyard-`. Where Maven fetches from is its own affair: its default, or the user's settings.

Services add bindings to a tool: folders of `*.java`, with `dependencies.txt`, a line `group:artifact:version`
for each library, and the `jars.sha256` of what these bring. They are laid beside the project's own sources,
and the libraries stand in the pom where it says `<!-- bindings -->`; all is built by one run of Maven, which
chooses among versions of one library.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from steelyard.model.tool import Tool
from steelyard.tools.bindings import list_folders
from steelyard.tools.folders import hash_folders

BUILDERS = (
    Tool("mvn", apt="maven", dnf="maven"),
    Tool("javac", apt="openjdk-17-jdk-headless", dnf="java-17-openjdk-devel"),
)
_GATHER = """set -eu; export LC_ALL=C; to=$0; mkdir -p "$to"
cp -R --no-preserve=mode "$1/." "$to"; shift; cd "$to"; : > dependencies.txt
for binding; do
    own=src/main/java/$(ls src/main/java | wc -l); mkdir "$own"; cp "$binding"/*.java "$own"
    for list in dependencies.txt jars.sha256; do
        [ ! -e "$binding/$list" ] || cat "$binding/$list" >> $list
    done
done
sort -u jars.sha256 | sort -k 2 -o jars.sha256
while IFS=: read -r group artifact version; do
    echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId>"
    echo "<version>$version</version></dependency>"
done < dependencies.txt > dependencies.xml
sed -i '/<!-- bindings -->/r dependencies.xml' pom.xml
"""
_COMPARE = """export LC_ALL=C; cd "$1/lib"
ls | grep -v '^steelyard-' | xargs sha256sum | diff "$0" - >&2
"""


def project(tool: Tool) -> Path:
    """Where the project of a tool lies."""
    return Path(tool.maven)


def sources(tool: Tool) -> tuple[Path, ...]:
    """The project, and the bindings of services."""
    return (project(tool), *list_folders(tool.name))


def digest(tool: Tool) -> str:
    """Of all sources: a tool that was built from others is to be built again."""
    return hash_folders(sources(tool))


def build_commands(
    tool: Tool, place: PurePath, sources: Sequence[PurePath], _: str = ""
) -> tuple[tuple[str, ...], ...]:
    """What would build a tool into a place of its own: gather, fetch, compile, compare the jars."""
    there = place / "sources"
    programs = sorted(str(there / "bin" / path.name) for path in (project(tool) / "bin").iterdir())
    pom = ("--file", str(there / "pom.xml"), f"-Dout={place}", "package")
    return (
        ("sh", "-c", _GATHER, str(there), *map(str, sources)),
        ("mvn", "--batch-mode", "--quiet", "--strict-checksums", *pom),
        ("sh", "-c", _COMPARE, str(there / "jars.sha256"), str(place)),
        ("install", "-D", "-m", "755", "-t", str(place / "bin"), *programs),
    )
