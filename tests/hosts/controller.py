"""A controller to be killed: `controller.py RUN FOLDER [--fork] [--endless] [--scratch] COMMANDS`.

It starts every command of a JSON list, prints `ready` and the pid of a forked copy of itself (or 0), and
then only waits.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from steelyard.hosts.lease import Lease
from steelyard.hosts.token import Token


async def main(run: str, folder: Path, options: list[str]) -> None:
    async with Lease.open(Token.of(run), log=folder / "minder.log") as lease:
        copy = 0
        if "--fork" in options:  # it holds the lease open, as a careless multiprocessing pool would
            copy = os.fork()
            if copy == 0:
                signal.pause()
        if "--scratch" in options:
            await lease.make_scratch(folder / "scratch")
            (folder / "scratch" / "data").write_text("x" * 1000)
        for command in json.loads(options[-1]):
            await start(lease, command, folder)
        print("ready", copy, flush=True)
        while "--endless" in options:
            await start(lease, ["sh", "-c", "sleep 300 & setsid sleep 300 & sleep 300"], folder)
        await asyncio.Event().wait()


async def start(lease: Lease, command: list[str], folder: Path) -> None:
    output = folder / "output"
    await lease.start(command, env=os.environ, cwd=folder, stdout=output, stderr=output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
