"""A command whose storage calls are recorded (`capture: io`), and what was recorded, brought home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath

from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host
from steelyard.hosts.unused.accounts import find_account, split_prefix
from steelyard.model.command import Command
from steelyard.model.tool import Tool

RECORDER = Tool("steelyard-recorder", bundled=str(Path(__file__).parents[1] / "traces" / "bin"))
_PATIENCE = 60.0

# The library lies beside the segments, where the program can read it, whatever its account.
_PREPARE = """
library=${XDG_CACHE_HOME:-$HOME/.cache}/steelyard/tools/$3/bin/$3
mkdir -p -m 0700 "$1" && cp "$library" "$1.so" && chmod 0755 "$1.so" || exit 1
[ -z "$2" ] || chown "$2:$2" "$1"
"""
# A server may have put there what is no segment of its own, such as a link; it has ended, and cannot again.
_CLEAN = 'find "$1" -mindepth 1 \\( ! -type f -o -links +1 \\) -delete'


def preload_variables(library: PurePath, place: PurePath, others: str = "") -> dict[str, str]:
    """Variables under which a program and those that it starts are recorded into a directory.

    Both paths are absolute. `others` are libraries that are to be loaded, too, as LD_PRELOAD has them.
    """
    return {"LD_PRELOAD": f"{library}:{others}" if others else str(library), "STEELYARD_TRACE": str(place)}


async def capture_command(host: Host, command: Command, place: PurePosixPath) -> Command:
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


async def fetch_segments(host: Host, place: PurePosixPath, target: Path) -> None:
    """Bring what was recorded there into `target`, once the program has ended; it is removed there."""
    await host.capture(("sh", "-c", _CLEAN, "sh", str(place)), seconds=_PATIENCE)
    target.parent.mkdir(parents=True, exist_ok=True)
    await host.get(place, target)
    await host.remove_directory(place)
