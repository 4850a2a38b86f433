"""What containers and control groups leave behind when all their processes are killed at once."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress

from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.model.control_groups import ControlGroups
from steelyard.model.environment import HasRemains
from steelyard.plugins import names
from steelyard.spec.conditions import environment_class

_PATIENCE = 60.0  # seconds for each command


async def remove_remains(hosts: Iterable[Host], remains: Sequence[HasRemains], token: str) -> None:
    """Remove those of a run from its hosts, as far as they answer."""
    commands = [command for one in remains if (command := one.remove_left(token))]
    with suppress(HostError):
        waits = (host.capture(command.argv, seconds=_PATIENCE) for host in hosts for command in commands)
        await asyncio.gather(*waits)


def sweep_remains() -> int:
    """Remove those of dead runs from this machine; how many there were."""
    environments = (environment_class(name)(name) for name in sorted(names("environments")))
    every: list[HasRemains] = [ControlGroups(), *environments]
    count = 0
    for one in every:
        for text in sorted(set(_run(one.list_left()).split())):
            token = Token.from_text(text)
            if token and token.is_dead():
                _run(one.remove_left(text))
                count += 1
    return count


def _run(command: Command | None) -> str:
    """What a command of an environment's prints; nothing where its program is not there, or fails."""
    if command is None:
        return ""
    try:
        said = subprocess.run(
            command.argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.decode(errors="replace")
