"""This machine's fitness for benchmarking, without a run: what `steelyard doctor` and the pages show."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.controller.machine.criu import try_criu
from steelyard.controller.machine.environment import gather
from steelyard.controller.machine.environments import try_environments
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token
from steelyard.plugins import names
from steelyard.spec.bind import workload_class
from steelyard.spec.sites import site_class


async def inspect_machine(scratch: PurePosixPath) -> dict[str, Any]:
    """The environment of this machine, with advice; nothing is changed. Raises HostError."""
    needs = {tool for name in names("workloads") for tool in workload_class(name).needs}
    async with _open_machine() as host:
        tried = [one._asdict() for one in await try_environments(host)]
        facts = await gather(host, sorted(needs, key=lambda tool: tool.name), scratch, None)
        return {**facts, "environments": tried, "schedulers": _list_schedulers()}


async def inspect_criu() -> dict[str, Any]:
    """Whether criu saves and restores a process here: a trial that takes a while. Raises HostError."""
    async with _open_machine() as host:
        return (await try_criu(host))._asdict()


def _open_machine() -> AbstractAsyncContextManager[LocalHost]:
    return LocalHost.open(Token.of("doctor"), Path(os.devnull))


def _list_schedulers() -> list[dict[str, Any]]:
    """Which batch schedulers jobs can be submitted to from here, and what the others lack. None is asked."""
    kinds = {name: site_class(name) for name in sorted(names("sites"))}
    return [
        {"name": name, "missing": list(kind.list_missing())} for name, kind in kinds.items() if kind.is_batch
    ]
