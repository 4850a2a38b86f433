"""`do: run`: any command on hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Command, Duration, HostError
from steelyard.plugin.event import Event, EventOptions
from steelyard.plugin.host import Host, Streams, finish


class RunOptions(EventOptions):
    """Which command, and where."""

    run: list[str] = Field(min_length=1, description="The program and its arguments")
    on: str = Field(description="The hosts that run it, such as db[0] or load")
    timeout: Duration = Field(Duration(60.0), gt=0, description="Time limit of the command")


class RunCommand(Event[RunOptions]):
    """Run a command once on each of the hosts, alongside the workload. Its output is saved with the trial.

    The trial fails if the command exits with a code other than 0. Steelyard heals nothing after this event.
    """

    Options = RunOptions
    examples = ({"run": ["sync"], "on": "db[0]"},)

    def check(self) -> None:
        """Whether the hosts are there."""
        self.event_context.hosts(self.options.on)

    async def happen(self) -> Mapping[str, Any]:
        """Run it everywhere at once."""
        hosts = self.event_context.hosts(self.options.on)
        codes = await asyncio.gather(*(self._run_on_host(host) for host in hosts))
        return {"codes": dict(zip([host.name for host in hosts], codes, strict=True))}

    async def _run_on_host(self, host: Host) -> int | None:
        logs = self.event_context.logs
        logs.mkdir(parents=True, exist_ok=True)
        streams = Streams(logs / f"{host.name}.stdout", logs / f"{host.name}.stderr")
        command = Command(tuple(self.options.run))
        process = await host.start(command, streams, cwd=self.event_context.scratch[host.name])
        ended, late = await finish(process, self.options.timeout)
        if late or ended.code != 0:
            how = f"took longer than {self.options.timeout:g} s" if late else f"ended with {ended.code}"
            said = streams.stderr.read_text(errors="replace").strip()[-400:]
            raise HostError(
                f"event run: {self.options.run[0]} on {host.name} {how}; {said or 'it printed nothing'}"
            )
        return ended.code
