"""A controller to be killed: it makes namespaces, prints what is to be gone afterwards, and waits.

`namespaces_controller.py RUN FOLDER ssh|nsenter`
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path, PurePosixPath

from steelyard.hosts.base import Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.sites.netns import Netns, NetnsOptions


async def main(run: str, folder: Path, via: str) -> None:
    site = Netns(NetnsOptions.model_validate({"hosts": 2, "via": via, "lost_after": "10s"}))
    async with site.lease(Token.of(run), folder / "log", None) as hosts:
        for host in hosts:
            streams = Streams(folder / f"{host.name}.out", folder / f"{host.name}.err")
            command = Command(("sh", "-c", "setsid sleep 300 & exec sleep 300"))
            await host.start(command, streams, cwd=PurePosixPath(folder))
            await host.make_scratch(PurePosixPath(folder) / f"scratch-{host.name}")
        print(json.dumps({"cut": hosts[0].facts["cut"], "address": hosts[0].address}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
