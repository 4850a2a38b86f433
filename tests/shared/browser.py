"""A headless Chromium without a network, driven over the DevTools protocol through a pair of pipes.

See https://chromedevtools.github.io/devtools-protocol/; `--remote-debugging-pipe` makes the browser read
commands from file descriptor 3 and write answers to 4, each ended by a zero byte. It ends when the pipes do.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from patience import PATIENCE

_LAUNCH = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Browser:
    """One browser with one page. `errors`: what the console complained of; `requests`: what it asked for.

    `enter`: words before its command line, such as those that enter a namespace; by default one without any
    network.
    """

    def __init__(self, profile: Path, enter: Sequence[str] | None = None) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        program = [sys.executable, "-c", _LAUNCH, str(commands), str(answers)]
        chromium = [shutil.which("chromium") or "chromium", *_FLAGS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [*(_without_network() if enter is None else enter), *program, *chromium],
            # Its lock would stay in /tmp when it is killed, and what it keeps of crashes in the user's home.
            env={**os.environ, "TMPDIR": str(profile), "HOME": str(profile)},
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands), os.close(answers)
        self._number, self._buffer, self._session = 0, b"", ""
        self.errors: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Self:
        try:
            target = self("Target.createTarget", url="about:blank")["targetId"]
            self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self(f"{domain}.enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and all that it started: they share the session that was made for them."""
        for pipe in (self._commands, self._answers):
            with contextlib.suppress(OSError):
                os.close(pipe)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Show a file and wait until it says that it is ready."""
        self.visit(path.as_uri(), width=width, height=height, dark=dark)

    def visit(self, url: str, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """The same for a URL."""
        self.errors.clear(), self.requests.clear()
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self("Emulation.setDeviceMetricsOverride", **screen)
        self.prefer(dark=dark)
        self("Page.navigate", url=url)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Until the page that is shown says that it is ready."""
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def prefer(self, *, dark: bool) -> None:
        """Switch between light and dark."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[feature])

    def wait(self, condition: str) -> None:
        """Until a condition holds on the page."""
        deadline = time.monotonic() + PATIENCE
        while not self.evaluate(f"!!({condition})"):
            assert time.monotonic() < deadline, (condition, self.errors)
            time.sleep(0.02)

    def evaluate(self, code: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse there."""
        self("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        extra: dict[str, Any] = {}
        if whole:
            size = self("Page.getLayoutMetrics")["cssContentSize"]
            extra = {"captureBeyondViewport": True, "clip": {**size, "x": 0, "y": 0, "scale": 1}}
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot", **extra)["data"]))

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self._answers, 1 << 16) if ready else b""
            assert data, "chromium does not answer" if not ready else "chromium has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Log.entryAdded":
                self.errors.append(f"{params['entry']['level']}: {params['entry']['text']}")
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(str([arg.get("value", arg.get("description")) for arg in params["args"]]))
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"]))


def _without_network() -> list[str]:
    """As root in a network namespace of its own, which has no way out at all."""
    alone = os.geteuid() == 0 and shutil.which("unshare")
    if alone and subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0:
        return ["unshare", "-n"]
    return []
