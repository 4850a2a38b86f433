"""Where Cassandra and a Java that can run it lie on a host; brought there where they do not."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from steelyard.plugin import HostError, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import find_missing, install_directory, maven

JAVA = Tool("java", apt="openjdk-17-jre-headless", dnf="java-17-openjdk-headless", version=("-version",))
CASSANDRA = Tool(
    "cassandra", maven=str(Path(__file__).with_name("java")), program="cassandra", version=("-v",)
)
# A `release` file tells Java's version without starting it. An installed Cassandra comes before ours.
# Every launch waits for this, so what the shell can read itself is read by no other program.
_FIND = r"""
me=$(id -u)
opened() {  # a node of root's runs as somebody who may not enter root's home
    [ "$me" != 0 ] || setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$1"
}
shown() {  # a jar, and a directory for it and its neighbours in the scratch: where a node can read it
    if opened "$1"; then echo "$1"; return; fi
    from=${1%/*}/.
    [ -e "$2" ] || { mkdir "$2" && { cp -rL --link "$from" "$2" 2>/dev/null || cp -rL "$from" "$2"; }; } &&
        chmod -R go+rX "$2" && echo "$2/${1##*/}"
}
for java in "$JAVA_HOME/bin/java" "$(command -v java)" /usr/lib/jvm/*17*/bin/java; do
    [ -x "$java" ] && real=$(readlink -f "$java") || continue
    seen=
    while IFS='="' read -r name _ value _; do
        [ "$name" != JAVA_VERSION ] || seen=$value
    done 2>/dev/null <"${real%/bin/java}/release"
    case $seen in
        17*) opened "$real" && echo "java $seen $real" && break; echo "other $seen $real for root alone";;
        *) echo "other $seen $real";;
    esac
done
ours=${XDG_CACHE_HOME:-$HOME/.cache}/steelyard/tools/cassandra mark=
[ ! -r "$ours/complete" ] || read -r mark <"$ours/complete"
if [ "$mark" = "$1" ]; then echo "ours $(shown "$ours/lib/$2" "$3/ours")"; else ours=; fi
path=$(command -v cassandra) && path=$(dirname "$(dirname "$(readlink -f "$path")")")
for place in "$CASSANDRA_HOME" "$path" "$ours"; do
    lib=${place:-/nowhere}/lib
    for jar in "$lib"/apache-cassandra-5.*.jar "$lib"/cassandra-all-5.*.jar; do
        [ -e "$jar" ] || continue
        [ "$place" = "$ours" ] && name=ours || name=lib
        open=$(shown "$jar" "$3/$name") && echo "home $open" || echo "closed $jar"
        exit
    done
done
exit 0
"""
_OURS = "steelyard-cassandra-1.jar"
_VERIFY = 'cd "$1" && printf "%s" "$SUMS" | sha256sum --check --quiet --strict 2>&1; echo "code $?"'
_COMPILE = """
compiler=org.eclipse.jdt.internal.compiler.batch.Main
"$1" -cp "$(dirname "$2")/*" $compiler \\
    -source 17 -target 17 -nowarn -cp "$(printf '%s:' "$(dirname "$2")"/antlr-runtime-*.jar)$2" \\
    -d "$3/classes" "$3/sources" && chmod -R go+rX "$3/classes"
"""


class CassandraHome(NamedTuple):
    """A Cassandra on a host: the program `java`, the directory of its jars, its version.

    `classes` are ours: where Java finds `steelyard.cassandra`.
    """

    java: str
    lib: PurePosixPath
    version: str
    classes: str


async def find_homes(
    hosts: Sequence[Host], scratch: Callable[[Host], PurePosixPath]
) -> dict[str, CassandraHome]:
    """By host. Those that share the controller's files have the same, so one of them is looked at."""
    places = {host.name: "" if host.shares_files else host.name for host in hosts}
    firsts = {places[host.name]: host for host in reversed(hosts)}
    distinct_homes = await asyncio.gather(*(find_home(host, scratch(host)) for host in firsts.values()))
    homes = dict(zip(firsts, distinct_homes, strict=True))
    return {name: homes[place] for name, place in places.items()}


async def find_home(host: Host, scratch: PurePosixPath) -> CassandraHome:
    """Cassandra on a host; `scratch` is for what it lacks.

    Raises HostError that says what is missing and how to get it.
    """
    words = ("sh", "-c", _FIND, "sh", maven.digest(CASSANDRA), _OURS, str(scratch))
    said = await host.capture(words, seconds=60.0) or ""
    lines = dict(line.split(" ", 1) for line in reversed(said.splitlines()))
    if "java" not in lines:
        raise HostError(
            f"Cassandra 5.0 needs Java 17, and {host.name} ({host.address}) has "
            + (f"only {lines['other'].strip()}" if "other" in lines else "none"),
            hint=f"run `apt install {JAVA.apt}` there, or set JAVA_HOME",
        )
    java = lines["java"].split(" ", 1)[1]
    if "closed" in lines:
        what = f"{host.name}: nodes do not run as root, but only root can read {lines['closed']}"
        raise HostError(f"{what}; copying it to {scratch} failed")
    if "home" not in lines:
        jar = await _copy_jars(host, scratch)
        ours = str(jar.with_name(_OURS))
    else:
        jar = PurePosixPath(lines["home"])
        ours = lines.get("ours") or await _compile_classes(host, java, jar, scratch)
    return CassandraHome(java, jar.parent, jar.stem.rsplit("-", 1)[1], ours)


async def verify_homes(hosts: Iterable[Host], homes: Mapping[str, CassandraHome]) -> None:
    """One of each machine; copies of the jars lie in a host's scratch, so these are all looked at."""
    distinct_hosts = {(host.machine, homes[host.name].lib): host for host in hosts}.values()
    await asyncio.gather(*(verify_jars(host, homes[host.name]) for host in distinct_hosts))


async def verify_jars(host: Host, home: CassandraHome) -> None:
    """That jars which `steelyard install` fetched are those that it fetched then. Raises HostError."""
    if not home.classes.startswith(f"{home.lib}/"):
        return  # an installed one, which others answer for
    sums = (maven.project(CASSANDRA) / "jars.sha256").read_text()
    line = f"SUMS={shlex.quote(sums)}; {_VERIFY}"
    said = await host.capture(("sh", "-c", line, "sh", str(home.lib)), seconds=60.0) or "it cannot be read"
    if not said.endswith("code 0\n"):
        raise HostError(
            f"{host.name}: the Cassandra jars in {home.lib} differ from those installed: "
            + "; ".join(said.splitlines()[:3]),
            hint="remove that directory, then run `steelyard install cassandra` to fetch them again",
        )


async def _compile_classes(host: Host, java: str, jar: PurePosixPath, scratch: PurePosixPath) -> str:
    """Our few classes, by the compiler that Cassandra brings, where only Cassandra is installed."""
    await host.put(maven.project(CASSANDRA) / "src" / "main" / "java", scratch / "sources")
    words = ("sh", "-c", _COMPILE, "sh", java, str(jar), str(scratch))
    if await host.capture(words, seconds=600.0) is None:  # a busy machine may take long
        raise HostError(f"{host.name}: Steelyard's classes do not compile against {jar}")
    return str(scratch / "classes")


async def _copy_jars(host: Host, scratch: PurePosixPath) -> PurePosixPath:
    """The jars of the controller's cache, copied to a host that has none of its own."""
    place = install_directory(CASSANDRA)
    jars = [] if find_missing([CASSANDRA]) else sorted((place / "lib").glob("cassandra-all-5.*.jar"))
    if not jars:
        raise HostError(
            f"Cassandra is not installed on {host.name} ({host.address})",
            hint="run `steelyard install cassandra` here or there, or set CASSANDRA_HOME there",
        )
    await host.put(jars[0].parent, scratch / "lib")
    await host.capture(("chmod", "-R", "go+rX", str(scratch / "lib")))
    return scratch / "lib" / jars[0].name
