"""`steelyard serve` for real, in a network of its own where that may be made, and a browser in it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from browser import Browser
from patience import PATIENCE

_APART = 'ip link set lo up; exec "$@"'


class WebServer:
    """A server that runs. `link` lets a browser in, `base` is the same without the token.

    `apart`: in a network of its own, where it reaches nothing, not even the runs that it would steer.
    `listen`: on a port; else where the options say.
    """

    def __init__(
        self, store: Path, home: Path, *options: str, apart: bool = True, listen: bool = True
    ) -> None:
        self.is_apart = apart and os.geteuid() == 0 and shutil.which("unshare") is not None
        alone = ["unshare", "--net", "sh", "-c", _APART, "sh"] if self.is_apart else []
        words = [sys.executable, "-m", "steelyard", "serve", "--store", str(store)]
        words += ["--listen", "127.0.0.1:0"] if listen else []
        self.home = home
        self.process = subprocess.Popen(
            [*alone, *words, *options],
            env={**os.environ, "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            self.link = self._read_link()
        except BaseException:  # as by a test's time limit: nobody else would end it
            self.close()
            raise
        parts = urlsplit(self.link)
        self.base, self.port = f"{parts.scheme}://{parts.netloc}/", parts.port
        self.token = parse_qs(parts.query)["token"][0]

    @property
    def enter(self) -> list[str]:
        """Words that put a program beside the server."""
        return ["nsenter", "--net", "--target", str(self.process.pid)] if self.is_apart else []

    def ask(self, path: str, *options: str, token: str | None = None) -> str:
        """What curl gets, with the token that may act, or another one; the status code on the last line."""
        shown = f"Authorization: Bearer {self.token if token is None else token}"
        words = ["curl", "-s", "-w", "\n%{http_code}", "-H", shown, *options]
        url = f"{self.base}{path.lstrip('/')}"
        return subprocess.run(
            [*self.enter, *words, url], capture_output=True, text=True, check=True, timeout=PATIENCE
        ).stdout

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit code."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """End it and all that is in its session, whatever it is at."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def _read_link(self) -> str:
        """The first of those that it prints."""
        assert self.process.stdout
        guard = threading.Timer(PATIENCE, self.process.kill)
        guard.start()
        said = []
        try:
            for line in self.process.stdout:
                if line.startswith("http"):
                    return line.partition(" ")[0].strip()
                said.append(line)
        finally:
            guard.cancel()
        raise AssertionError(f"it prints no link: {said}")


@contextlib.contextmanager
def serving(store: Path, home: Path, *options: str, **more: bool) -> Iterator[WebServer]:
    """A server for as long as the block lasts."""
    server = WebServer(store, home, *options, **more)
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def browsing(server: WebServer) -> Iterator[Browser]:
    """A browser beside a server. Paths of its sockets must be short."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as profile,
        Browser(Path(profile), server.enter) as browser,
    ):
        yield browser
