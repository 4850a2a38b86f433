"""Run a host in a pid namespace of its own, beside a process in session 0; say whether that lives on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.base import Streams
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.transports.piped import PipedTransport


async def story(folder: Path, shell: str) -> None:
    transport = PipedTransport("n1", "127.0.0.1", shell=shell)
    token = Token.of("bystanders")
    async with ShellHost.open(
        transport, token, folder / "log", pace=AgentTimeouts(0.5, 300.0, 300.0)
    ) as host:
        streams = Streams(folder / "out", folder / "err")
        for argv in (("true",), ("sh", "-c", "setsid sleep 300 & exit 1")):
            await (await host.start(Command(argv), streams, cwd=PurePosixPath(folder))).wait()
        for at in (None, 2**62):
            process = await host.start(Command(("sleep", "300")), streams, cwd=PurePosixPath(folder), at=at)
            await process.kill(grace=0)
        hasty = asyncio.create_task(host.start(Command(("sleep", "300")), streams, cwd=PurePosixPath(folder)))
        await asyncio.sleep(0)
        hasty.cancel()
        await asyncio.gather(hasty, return_exceptions=True)
        await host.start(Command(("sleep", "300")), streams, cwd=PurePosixPath(folder))


def main(shell: str) -> None:
    bystander = subprocess.Popen(["sleep", "300"])  # in our session, which is 0 in this namespace
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(story(Path(folder), shell))
    print("ended" if bystander.poll() is not None else "alive")
    bystander.kill()
    bystander.wait()


if __name__ == "__main__":
    main(sys.argv[1])
