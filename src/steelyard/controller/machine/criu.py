"""Whether criu saves and restores a process on a host, and what it says where it does not."""

from __future__ import annotations

import time
from typing import NamedTuple

from steelyard.hosts.base import Host

# A process in a session of its own, without a terminal, is saved, which ends it; then it is there again.
_TRY = """\
command -v criu >/dev/null || { echo "criu is not installed (apt install criu)"; exit 0; }
place=$(mktemp -d)
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
process=$!
restored=
trap 'kill -9 $process $restored 2>/dev/null; rm -rf "$place"' EXIT
until [ "$(cat "/proc/$process/comm")" = sleep ]; do :; done
mkdir "$place/images"
try() {
    criu dump -t "$process" -D "$place/images" || return
    wait "$process" 2>/dev/null  # or its number is not free
    process=                     # and may be that of a stranger now
    criu restore -d -D "$place/images" --pidfile "$place/pid" || return
    there=$(cat "$place/pid")
    [ "$(cat "/proc/$there/comm")" = sleep ] && restored=$there  # nobody else is killed
}
if try 2>&1; then echo "$0"; fi
"""
_RESTORED = "it was restored"
_PATIENCE = 30.0  # seconds
_SHOWN = 300  # characters of what it says


class TriedCriu(NamedTuple):
    """`seconds`: how long a small process took to be saved and restored; else `reason` says why not."""

    restores: bool
    seconds: float
    reason: str


async def try_criu(host: Host) -> TriedCriu:
    """Save a process that sleeps, restore it, and end it. Raises HostError."""
    began = time.monotonic()
    said = await host.capture(("sh", "-c", _TRY, _RESTORED), seconds=_PATIENCE)
    seconds = time.monotonic() - began
    lines = (f"nothing happened within {_PATIENCE:g} s" if said is None else said).strip().splitlines()
    restores = lines[-1:] == [_RESTORED]
    return TriedCriu(restores, seconds, "" if restores else _find_reason(lines))


def _find_reason(lines: list[str]) -> str:
    """What went wrong first; all else follows from that."""
    errors = [line for line in lines if "Error" in line]
    return (errors or lines or ["it said nothing"])[0][:_SHOWN]
