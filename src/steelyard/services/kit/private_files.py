"""Files in a service's scratch that its server reads and may not change; what they hold is in no record."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from steelyard.hosts.base import Host
from steelyard.services.base import Service
from steelyard.services.kit.data import DataDirectory

# The directory is ours alone, so that nobody can put a link in the way; `-C` opens no file that is there.
_WRITE = """
umask 077; set -C; mkdir -p "$PLACE"; cd "$PLACE"
{lines}
[ -z "$GROUP" ] || {{
    chgrp "$GROUP" {names}; chmod 0640 {names}
    [ "$PLACE" = . ] || {{ chgrp "$GROUP" .; chmod 0750 .; }}
}}
"""
_ASK_WITHIN = 5.0  # seconds; a server that is frozen does not answer at all


async def write_private(
    service: Service[Any], host: Host, data: DataDirectory, files: Mapping[str, str], place: str = "."
) -> None:
    """Write texts by their names beside the data, or in a new directory there: of mode 0600, or root's and
    readable by the server's group.

    They pass through the environment, not argv.
    """
    names = [shlex.quote(name) for name in files]
    lines = "\n".join(f'printf %s "$FILE{at}" > {name}' for at, name in enumerate(names))
    script = _WRITE.format(lines=lines, names=" ".join(names))
    texts = {f"FILE{at}": text for at, text in enumerate(files.values())}
    await service.run_script(host, "configuration", script, PLACE=place, GROUP=data.account, **texts)


async def ask(service: Service[Any], host: Host, script: str, *words: str) -> str:
    """What a short script prints in the scratch of a host, where it finds such files; empty when it fails.

    For questions that are asked again and again: they leave no file in the record.
    """
    line = f"cd {shlex.quote(str(service.scratch(host)))} && {script}"
    return await host.capture(("sh", "-c", line, "sh", *words), seconds=_ASK_WITHIN) or ""
