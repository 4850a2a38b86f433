"""`do: run`: any command on hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.errors import HostError
from steelyard.events.base import Event, EventOptions
from steelyard.model.command import Command
from steelyard.remote.base import Host, Streams, finish
from steelyard.units import Duration


class RunOptions(EventOptions):
    """Which command, and where."""

    run: list[str] = Field(min_length=1, description="The program and its arguments")
    on: str = Field(description="The hosts that run it, as db[0] or load")
    timeout: Duration = Field(Duration(60.0), gt=0, description="How long it may take")


class RunCommand(Event[RunOptions]):
    """A command runs once on each of the hosts, beside the workload. Its output is kept with the trial.

    One that ends with another code than 0 fails the trial. There is nothing to heal that Steelyard knows of.
    """

    options = RunOptions
    examples = ({"run": ["sync"], "on": "db[0]"},)

    def check(self) -> None:
        """Whether the hosts are there."""
        self.event_context.hosts(self.chosen.on)

    async def happen(self) -> Mapping[str, Any]:
        """Run it everywhere at once."""
        hosts = self.event_context.hosts(self.chosen.on)
        codes = await asyncio.gather(*(self._on(host) for host in hosts))
        return {"codes": dict(zip([host.name for host in hosts], codes, strict=True))}

    async def _on(self, host: Host) -> int | None:
        self.event_context.logs.mkdir(parents=True, exist_ok=True)
        streams = Streams(
            self.event_context.logs / f"{host.name}.stdout", self.event_context.logs / f"{host.name}.stderr"
        )
        command = Command(tuple(self.chosen.run))
        process = await host.start(command, streams, cwd=self.event_context.scratch[host.name])
        ended, late = await finish(process, self.chosen.timeout)
        if late or ended.code != 0:
            how = f"took longer than {self.chosen.timeout:g} s" if late else f"ended with {ended.code}"
            said = streams.stderr.read_text(errors="replace").strip()[-400:]
            raise HostError(
                f"event run: {self.chosen.run[0]} on {host.name} {how}; {said or 'it said nothing'}"
            )
        return ended.code
