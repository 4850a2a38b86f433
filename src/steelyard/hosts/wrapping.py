"""A command under the conditions of `wrap` on a host, and what its kernel then says of the process."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath

from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host
from steelyard.model.command import Command
from steelyard.model.keys.wrap import RUNTIMES, TOLD, Conditions, KernelReport


async def wrap_command(
    host: Host, command: Command, asked: Conditions, scratch: PurePosixPath, *mounts: object
) -> Command:
    """The command as it is started there. Raises TrialFailure when what it takes is not there."""
    if not asked.any:
        return command
    for tool in asked.required_tools():
        if not await host.which(tool.name):
            raise TrialFailure(
                "tool-missing", f"wrap: {tool.name} is not installed on {host.name} (apt install {tool.apt})"
            )
    runtime = await _choose_runtime(host, asked) if asked.image else ""
    places = tuple(dict.fromkeys(str(path) for path in (scratch, *mounts) if path))
    return asked.wrap_command(command, runtime=runtime, mounts=places, told=str(scratch / TOLD))


async def read_kernel(host: Host, scratch: PurePosixPath) -> KernelReport:
    """What a process that was started so said of itself before it became its program."""
    path = str(scratch / TOLD)
    return KernelReport.from_text((await host.read([path])).get(path, ""))


async def _choose_runtime(host: Host, asked: Conditions) -> str:
    paths = await asyncio.gather(*map(host.which, RUNTIMES))
    there = {name: bool(path) for name, path in zip(RUNTIMES, paths, strict=True)}
    if runtime := asked.runtime(there):
        return runtime
    needed = f"wrap: image {asked.image} needs {' or '.join(asked.runtimes())}"
    raise TrialFailure("tool-missing", f"{needed}, which {host.name} does not have")
