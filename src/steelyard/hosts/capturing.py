"""A command whose storage calls are recorded (`capture:`), and what was recorded, brought home."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath

from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host
from steelyard.hosts.unused.accounts import find_account, split_prefix
from steelyard.model.command import Command
from steelyard.model.tool import Tool

_BUILT = str(Path(__file__).parents[1] / "traces" / "bin")
RECORDER = Tool("steelyard-recorder", bundled=_BUILT)
PASSTHROUGH = Tool("steelyard-passthrough", bundled=_BUILT)
WAYS: Mapping[str, Tool] = {"io": RECORDER, "fuse": PASSTHROUGH, "fuse-cached": PASSTHROUGH}
"""How the calls of a program can be recorded, by the values of `capture`, and what it takes: a library that
is loaded into it, or a file system of ours between it and its directories."""
WAY = "way"
"""The file beside the segments that says which it was."""
_PATIENCE = 60.0

# The library lies beside the segments, where the program can read it, whatever its account.
_PREPARE = """
library=${XDG_CACHE_HOME:-$HOME/.cache}/steelyard/tools/$3/bin/$3
mkdir -p -m 0700 "$1" && cp "$library" "$1.so" && chmod 0755 "$1.so" && echo io > "$1/way" || exit 1
[ -z "$2" ] || chown "$2:$2" "$1"
"""
# What it says where it cannot be is the reason.
_TRY = 'place=$1 way=$2; shift 2; mkdir -p -m 0700 "$place" && echo "$way" > "$place/way" && "$@" 2>&1 || :'
# A server may have put there what is no segment of its own, such as a link; it has ended, and cannot again.
_CLEAN = 'find "$1" -mindepth 1 \\( ! -type f -o -links +1 \\) -delete'


def preload_variables(library: PurePath, place: PurePath, others: str = "") -> dict[str, str]:
    """Variables under which a program and those that it starts are recorded into a directory.

    Both paths are absolute. `others` are libraries that are to be loaded, too, as LD_PRELOAD has them.
    """
    return {"LD_PRELOAD": f"{library}:{others}" if others else str(library), "STEELYARD_TRACE": str(place)}


async def preload_recorder(host: Host, command: Command, place: PurePosixPath) -> Command:
    """The command with its calls recorded into a directory that is made there. Raises TrialFailure.

    The library is loaded after root has been given up, into the program itself and what it starts.
    """
    prefix, argv = split_prefix(command.argv)
    words = ("sh", "-c", _PREPARE, "sh", str(place), find_account(prefix), RECORDER.name)
    if await host.capture(words, seconds=_PATIENCE) is None:
        raise TrialFailure("host-failed", f"capture: io: the recorder could not be prepared on {host.name}")
    library = place.with_name(f"{place.name}.so")
    variables = preload_variables(library, place, command.variables.get("LD_PRELOAD", ""))
    settings = (f"{name}={value}" for name, value in variables.items())
    return replace(command, argv=(*prefix, "env", *settings, *argv))


async def pass_through(
    host: Host, command: Command, way: str, place: PurePosixPath, directory: PurePosixPath
) -> Command:
    """The command as one that sees a directory through FUSE, which records into another that is made there.

    Nothing surrounds the passthrough; it needs root, or user namespaces. Raises TrialFailure.
    """
    prefix = write_passthrough(PASSTHROUGH.argv(), way, str(place), [str(directory)])
    words = ("sh", "-c", _TRY, "sh", str(place), way, *prefix, "true")
    said = await host.capture(words, seconds=_PATIENCE)
    if said is None or said.strip():
        reason = (said or "the passthrough could not be started").strip().splitlines()[-1]
        raise TrialFailure("host-failed", f"capture: {way}: {reason} ({host.name})")
    return command.wrap(*prefix)


def write_passthrough(
    program: Iterable[str], way: str, place: str, directories: Iterable[str]
) -> tuple[str, ...]:
    """The words before a command that is to see directories through FUSE, recorded into `place`."""
    over = (word for directory in directories for word in ("--over", directory))
    return (*program, *(("--cached",) if way == "fuse-cached" else ()), "--into", place, *over, "--")


async def fetch_segments(host: Host, place: PurePosixPath, target: Path) -> None:
    """Bring what was recorded there into `target`, once the program has ended; it is removed there."""
    await host.capture(("sh", "-c", _CLEAN, "sh", str(place)), seconds=_PATIENCE)
    target.parent.mkdir(parents=True, exist_ok=True)
    await host.get(place, target)
    await host.remove_directory(place)
