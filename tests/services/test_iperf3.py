"""iperf3's servers serve one client at a time."""

from __future__ import annotations

import asyncio
import shutil
from asyncio.subprocess import PIPE
from typing import Any

import pytest

from steelyard.testing.contract.bench import with_bench

pytestmark = pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed (apt: iperf3)")


def test_a_server_that_serves_somebody_answers() -> None:
    async def test(made: Any) -> None:
        service = made.service("iperf3", {})
        async with service.deploy():
            (server,) = service.servers
            words = ("--client", server.address, "--port", str(server.port), "--time", "60", "--forceflush")
            client = await asyncio.create_subprocess_exec("iperf3", *words, stdout=PIPE)
            try:
                assert client.stdout
                while b"connected to" not in (line := await client.stdout.readline()):
                    assert line, "it is being served"
                assert await service.is_answering(server)
            finally:
                client.kill()
                await client.wait()

    with_bench(test, hosts=1)
