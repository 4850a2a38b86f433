"""One launch of a service on hosts of this machine, for `bench.launch`: prints what it took, as JSON.

`python -m bench.launching null|timed|plain HOSTS PLACE OPTIONS`. The services are handed over as plug-ins of
others are: by entry points, in a directory of ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from bench.timed_cassandra import TimedCassandra
from steelyard.controller.context import RunContext
from steelyard.controller.deployment.deployment import Deployment
from steelyard.controller.placement import Placement
from steelyard.controller.scratch import Scratch, Scratches
from steelyard.design import Design, Results
from steelyard.hosts.token import Token
from steelyard.model.experiment import Experiment
from steelyard.model.keys.roles import RoleClaim
from steelyard.model.trial import Cell
from steelyard.sites.local import Local, LocalOptions
from steelyard.spec.sites import NamedSite
from steelyard.store.layout import Store
from steelyard.store.writer import RunWriter

RUN = "bench"
LONGEST = 300.0  # seconds
_POINTS = (
    "[steelyard.services]\n"
    "null = steelyard.testing:NullService\n"
    "timed = bench.timed_cassandra:TimedCassandra\n"
    "plain = bench.timed_cassandra:PlainCassandra\n"
)
_METADATA = "Metadata-Version: 2.1\nName: bench-services\nVersion: 0\n"


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, in a directory of its own."""

    use: str
    hosts: int
    place: Path
    options: Mapping[str, Any]

    async def measured(self) -> dict[str, float]:
        """Seconds of it, and of its parts where the service tells them. Raises SteelyardError."""
        experiment = Experiment(
            experiment=RUN,
            roles={"db": self.hosts},
            services={"ring": {"use": self.use, "on": "db", **self.options}},
            workload={"use": "command", "run": ["true"]},
        )
        log, site = self.place / "log", Local(LocalOptions(hosts=self.hosts))
        async with site.lease(Token.of(RUN), log, self.hosts) as leased:
            placement = Placement.of({"db": RoleClaim(self.hosts)}, leased)
            base = PurePosixPath(self.place / "scratch")
            each = (Scratch(host, base, RUN, experiment, _quiet, alone=False) for host in placement.hosts)
            scratches = Scratches(each)
            await scratches.open()
            store = Store(self.place / "store")
            try:
                with RunWriter(store.create(RUN)) as writer:
                    named, design = NamedSite("local", site), Design(experiment, 1)
                    context = RunContext(experiment, design, Results(), writer, store, named)
                    return await _deployed(Deployment(context, placement, scratches))
            finally:
                await scratches.close()


async def _deployed(deployment: Deployment) -> dict[str, float]:
    try:
        began = time.monotonic()
        async with asyncio.timeout(LONGEST), deployment.deploy_for_trial(Cell({}), 1) as deployed:
            ended = time.monotonic()
            (service,) = deployed.services
            parts = service.parts(began, ended) if isinstance(service, TimedCassandra) else {}
            return {"seconds": ended - began, **parts}
    finally:
        await deployment.close()


def _quiet(*_: Any, **__: Any) -> None:
    """Nobody reads a journal here."""


def main(use: str, hosts: str, place: str, options: str) -> None:
    """Launch once."""
    plugins = Path(place) / "bench_services-0.dist-info"
    plugins.mkdir()
    (plugins / "entry_points.txt").write_text(_POINTS)
    (plugins / "METADATA").write_text(_METADATA)
    sys.path.append(place)
    chosen = json.loads(options) if use != "null" else {}
    print(json.dumps(asyncio.run(Launch(use, int(hosts), Path(place), chosen).measured())))


if __name__ == "__main__":
    main(*sys.argv[1:])
