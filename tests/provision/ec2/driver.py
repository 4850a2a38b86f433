"""A controller in a process of its own: `driver.py RUN LOG OPTIONS` rents, says `ready`, and waits."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

from steelyard.hosts.token import Token
from steelyard.sites.ec2 import Ec2, Ec2Options


async def main(run: str, log: str, options: str) -> None:
    site = Ec2(Ec2Options.model_validate(json.loads(options)))
    async with site.lease(Token.of(run), Path(log), None):
        print("ready", flush=True)
        await asyncio.sleep(60)


signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
asyncio.run(main(*sys.argv[1:]))
