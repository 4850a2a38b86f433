"""Files in a service's scratch that hold a password: for its server's user alone, and in no record."""

from __future__ import annotations

import shlex
from typing import Any

from steelyard.model.command import Command
from steelyard.remote.base import Host
from steelyard.services._data import Data
from steelyard.services.base import Service

_WRITE = """
umask 077
printf '%s' "$CONTENT" > "$NAME"
[ -z "$OWNER" ] || chown "$OWNER" "$NAME"
"""
_ASK_WITHIN = 5.0  # seconds; a server that is frozen does not answer at all


async def write_private(service: Service[Any], host: Host, data: Data, name: str, content: str) -> None:
    """Write a file of mode 0600 beside the data. Its content passes through the environment, not argv."""
    owner = f"{data.user}:{data.group}" if data.user else ""
    await service.small(host, name, _WRITE, NAME=name, CONTENT=content, OWNER=owner)


async def ask(service: Service[Any], host: Host, script: str, *words: str) -> str:
    """What a short script prints in the scratch of a host, where it finds such files; empty when it fails.

    For questions that are asked again and again: they leave no file in the record.
    """
    line = f"cd {shlex.quote(str(service.scratch(host)))} && {script}"
    return await host.capture(("sh", "-c", line, "sh", *words), seconds=_ASK_WITHIN) or ""


def shell_words(command: Command) -> str:
    """A command's words as a line of a script, quoted."""
    return shlex.join(command.argv)
