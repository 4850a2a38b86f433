"""Install tools on one host, by its package manager or into the user's cache there."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import NoReturn

from steelyard.controller.scratch import FAR_SCRATCH
from steelyard.errors import HostError
from steelyard.hosts.base import Host, Streams, finish
from steelyard.hosts.cache import find_cache
from steelyard.hosts.short_programs import tail
from steelyard.model.command import Command
from steelyard.model.tool import Tool
from steelyard.tools.find import COMPLETE, MANAGERS, digest, host_commands, install_command, sources
from steelyard.tools.maven import BUILDERS

Say = Callable[[str], None]


class HostInstaller:
    """What is done on one host. `folder` is ours, for what its commands print."""

    def __init__(self, host: Host, folder: Path, say: Say, dry_run: bool) -> None:
        self._host, self._folder, self._say, self._dry_run = host, folder, say, dry_run

    async def install(self, tools: Sequence[Tool]) -> None:
        """Bring what is missing. Raises SteelyardError."""
        cache = await find_cache(self._host)
        places = {tool: cache / "tools" / tool.name for tool in tools}
        missing = [tool for tool in tools if not await self._has_tool(tool, places[tool])]
        if not missing:
            self._say(f"{self._host.name}: everything is already installed")
            return
        builders = BUILDERS if any(tool.maven for tool in missing) else ()
        packaged = [tool for tool in missing if not tool.has_own_directory]
        packaged += [tool for tool in builders if not await self._host.which(tool.name)]
        async with self._make_workdir() as workdir:
            await self._install_packages(packaged, workdir)
            for tool in missing:
                if tool.has_own_directory:
                    await self._build(tool, places[tool], workdir)

    async def _has_tool(self, tool: Tool, place: PurePosixPath) -> bool:
        if not tool.bundled and await self._host.which(tool.program if tool.maven else tool.name):
            return True
        if tool.places and await self._host.capture(tool.argv(*tool.version)) is not None:
            return True
        mark = str(place / COMPLETE)
        return tool.has_own_directory and (await self._host.read([mark])).get(mark) == digest(tool)

    @asynccontextmanager
    async def _make_workdir(self) -> AsyncIterator[PurePosixPath]:
        base = self._host.scratch_base() or FAR_SCRATCH
        path = base / f"steelyard-install-{self._host.name}-{secrets.token_hex(8)}"
        await self._host.make_scratch(path)
        try:
            yield path
        finally:
            await self._host.remove_scratch(path)

    async def _install_packages(self, tools: Sequence[Tool], workdir: PurePosixPath) -> None:
        if not tools:
            return
        managers = [program for program, *_ in MANAGERS if await self._host.which(program)]
        argv = install_command(tools, managers)
        if argv is None:
            self._raise_missing(f"package manager that provides {', '.join(tool.name for tool in tools)}")
        is_root = (await self._host.capture(("id", "-u")) or "").strip() == "0"
        await self._run(argv if is_root else ("sudo", "-n", *argv), workdir)

    async def _build(self, tool: Tool, place: PurePosixPath, workdir: PurePosixPath) -> None:
        paths = {workdir / f"{tool.name}-{at}": path for at, path in enumerate(sources(tool))}
        for there, path in paths.items():
            await self._host.put(path, there)
        for argv in host_commands(tool, place, tuple(paths)):
            await self._run(argv, workdir)

    async def _run(self, argv: tuple[str, ...], workdir: PurePosixPath) -> None:
        self._say(f"{self._host.name}: {shlex.join(argv)}")
        if self._dry_run:
            return
        streams = Streams(*(self._folder / f"{self._host.name}.{name}" for name in ("out", "err")))
        exit_, _ = await finish(await self._host.start(Command(argv), streams, cwd=workdir), None)
        if exit_.code != 0:
            last = tail(streams.stderr) or "it printed nothing"
            hint = "log in to that host and run it by hand for details"
            raise HostError(f"host {self._host.name}: {argv[0]} ended {exit_.way}: {last}", hint=hint)

    def _raise_missing(self, what: str) -> NoReturn:
        raise HostError(f"host {self._host.name} has no {what}", hint="install it by hand on that host")
