"""What Steelyard itself costs while a run goes on: CPU time of the controller and of its agents on hosts."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from steelyard.errors import HostError
from steelyard.hosts.base import Host

_TICK = 0.01  # seconds: USER_HZ, in which /proc speaks
_PATIENCE = 2.0  # seconds: a host that hangs at the end of a run keeps nobody waiting for this figure


class OverheadMeter:
    """The cost of one session, from its making on."""

    def __init__(self) -> None:
        self._began, self._spent = time.monotonic(), _own_cpu_time()
        self._agents: dict[str, float | None] = {}

    async def read_agents(self, hosts: Sequence[Host]) -> None:
        """Learn what the agents have used; once they are gone, nobody knows. One may serve several hosts."""
        agents: dict[tuple[str, int | str], Host] = {}
        for host in hosts:
            agents.setdefault((host.machine, host.agent() or host.name), host)
        used = await asyncio.gather(*map(_agent_cpu_time, agents.values()))
        self._agents = {host.name: seconds for host, seconds in zip(agents.values(), used, strict=True)}

    def facts(self) -> dict[str, Any]:
        """For the journal, in seconds; None of an agent of which it is not known."""
        wall, controller = time.monotonic() - self._began, _own_cpu_time() - self._spent
        return {"wall": round(wall, 3), "controller": round(controller, 3), "agents": self._agents}


def _own_cpu_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _agent_cpu_time(host: Host) -> float | None:
    """Without that of its children, which are programs of the workload."""
    pid = host.agent()
    path, files = f"/proc/{pid}/stat", dict[str, str]()
    with suppress(HostError, TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            files = await host.read([path]) if pid else {}
    fields = files.get(path, "").rpartition(")")[2].split()[11:13]
    return sum(map(int, fields)) * _TICK if len(fields) == 2 and all(map(str.isdecimal, fields)) else None
