"""Files in a service's scratch that its server reads and may not change; what they hold is in no record."""

from __future__ import annotations

import shlex
from typing import Any

from steelyard.remote.base import Host
from steelyard.services._data import Data
from steelyard.services.base import Service

# The directory is ours alone, so that nobody can put a link in the way; `-C` opens no file that is there.
_WRITE = """
umask 077; set -C
printf '%s' "$CONTENT" > "$NAME"
[ -z "$GROUP" ] || { chgrp "$GROUP" "$NAME"; chmod 0640 "$NAME"; }
"""
_ASK_WITHIN = 5.0  # seconds; a server that is frozen does not answer at all


async def write_private(service: Service[Any], host: Host, data: Data, name: str, content: str) -> None:
    """Write a file beside the data: of mode 0600, or root's and readable by the server's group.

    Its content passes through the environment, not argv.
    """
    await service.small(host, name, _WRITE, NAME=name, CONTENT=content, GROUP=data.account)


async def ask(service: Service[Any], host: Host, script: str, *words: str) -> str:
    """What a short script prints in the scratch of a host, where it finds such files; empty when it fails.

    For questions that are asked again and again: they leave no file in the record.
    """
    line = f"cd {shlex.quote(str(service.scratch(host)))} && {script}"
    return await host.capture(("sh", "-c", line, "sh", *words), seconds=_ASK_WITHIN) or ""
