"""Has `steelyard` commands started beside the server, and knows what each has printed so far."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from steelyard.errors import HostError, UnknownName
from steelyard.files import write_whole
from steelyard.store.layout import Store
from steelyard.untrusted import open_regular

_PROGRAM = Path(__file__).with_name("detach.py")
_KEY = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")
_RUN = re.compile(r"^run (\d{8}-\d{6}-\S+?-[0-9a-f]{4})\b", re.MULTILINE)
_MOST = 64 * 1024


class StartedCommand(NamedTuple):
    """What a command printed so far, and the run that it drives, as soon as that is known."""

    key: str
    output: str
    run: str


class RunStarter:
    """Use it as a context manager; what it started goes on when it ends."""

    def __init__(self, store: Store) -> None:
        self._store, self._logs = store, store.root / "starts"

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()

    def start(self, *words: str, folder: Path | None = None) -> str:
        """Start a command of Steelyard on our store; the key by which it is found. Raises HostError."""
        key = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
        argv = [sys.executable, "-m", "steelyard", *words, "--store", str(self._store.root.absolute())]
        try:
            self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self._logs / key, b"", mode=0o600)
            self._send(argv, folder or Path.cwd(), self._logs / key)
        except OSError as error:
            raise HostError(f"cannot start `steelyard {words[0]}`: {error.strerror or error}") from error
        return key

    def read(self, key: str) -> StartedCommand:
        """What has become of a command. Raises UnknownName."""
        try:
            if not _KEY.fullmatch(key):
                raise FileNotFoundError(key)
            with open_regular(self._logs / key) as file:
                output = file.read(_MOST).decode("utf-8", "replace")
        except OSError as error:
            raise UnknownName("command", key, (), hint="the list of runs shows what has begun") from error
        run = _RUN.search(output)
        return StartedCommand(key, output, run[1] if run else "")

    def _send(self, words: Sequence[str], folder: Path, log: Path) -> None:
        task = {"words": list(words), "folder": str(folder.absolute()), "log": str(log.absolute())}
        assert self._process.stdin  # noqa: S101 - it was asked for
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
