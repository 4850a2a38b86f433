"""A web server of a store, as a process that is measured."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.process import NotMeasured, read_cpu
from bench.served import TOKEN
from bench.setting import Setting


class Server(NamedTuple):
    """A server of a store, by its process and port."""

    process: subprocess.Popen[str]
    port: int

    def ask(self, path: str) -> bytes:
        """A page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise NotMeasured(f"{path}: {answer.status}")
        return body

    @property
    def memory(self) -> float:
        """Resident bytes now."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return 1024 * float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        return read_cpu(self.process.pid)


@contextmanager
def serving(setting: Setting, store: Path) -> Iterator[Server]:
    """One, until it is no longer needed. Raises NotMeasured."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.served", str(store)],
        cwd=Path(__file__).parents[1],
        env={**setting.environment, "XDG_CACHE_HOME": str(setting.folder("cache"))},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            if not port.isdecimal():
                raise NotMeasured("the server did not start")
            yield Server(process, int(port))
        finally:
            process.terminate()
