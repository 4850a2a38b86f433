"""Which environments run a program on a host, and why the others do not."""

from __future__ import annotations

import time
from pathlib import PurePosixPath
from typing import NamedTuple

from steelyard.environments.base import Environment
from steelyard.hosts.base import Host
from steelyard.model.command import Command
from steelyard.model.environment import Inside
from steelyard.plugins import names
from steelyard.spec.conditions import environment_class

# The smallest image there is: a program that does nothing, with its libraries, and what runtimes ask for.
_MAKE_IMAGE = """\
set -e
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/bin" "$place/proc" "$place/sys" "$place/dev" "$place/etc" "$place/tmp" "$place/home"
for program in sh true; do
    found=$(readlink -f "/bin/$program")
    cp "$found" "$place/bin/$program"
    for library in $(ldd "$found" | sed -n 's/^[^/]*\\(\\/[^ ]*\\) (0x.*/\\1/p'); do
        mkdir -p "$place${library%/*}"; cp "$library" "$place$library"
    done
done
echo root:x:0:0::/:/bin/sh > "$place/etc/passwd"; echo root:x:0: > "$place/etc/group"
trap - EXIT
echo "$place"
"""
_TRY = '"$@" 2>&1 && echo "$0" || :'
_RAN = "it ran"
_PATIENCE = 30.0  # seconds


class TriedEnvironment(NamedTuple):
    """Whether an environment runs a program; `seconds`: how long one took that does nothing, else `reason`
    says why none runs.
    """

    name: str
    runs: bool
    seconds: float
    reason: str


async def try_environments(host: Host) -> list[TriedEnvironment]:
    """All there are, on a host, with an image that is made for it and removed. Raises HostError."""
    image = (await host.capture(("sh", "-c", _MAKE_IMAGE)) or "").strip()
    try:
        every = [environment_class(name)(name) for name in sorted(names("environments"))]
        return [await _try(host, one, image) for one in every]
    finally:
        if image:
            await host.capture(("rm", "-rf", "--one-file-system", image))


async def _try(host: Host, environment: Environment, image: str) -> TriedEnvironment:
    for tool in environment.needs:
        if not await host.which(tool.name):
            how = f" (apt install {tool.apt})" if tool.apt else ""
            return TriedEnvironment(environment.name, False, 0.0, f"{tool.name} is not installed{how}")
    if not image:
        return TriedEnvironment(environment.name, False, 0.0, "no image could be made to try it")
    place = str(PurePosixPath(image) / "tmp")
    entered = environment.enter(Command(("true",)), Inside(image, (place,), place))
    began = time.monotonic()
    said = await host.capture(("sh", "-c", _TRY, _RAN, *entered.argv), seconds=_PATIENCE)
    seconds = time.monotonic() - began
    lines = (said or f"nothing happened within {_PATIENCE:g} s").strip().splitlines()
    runs = lines[-1:] == [_RAN]
    return TriedEnvironment(environment.name, runs, seconds, "" if runs else " ".join(lines)[:300])
