"""A real object store on loopback: versitygw, whose buckets are directories and whose objects are files."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_KEY, _SECRET = "thekeysid", "verysecretkey"


@contextlib.contextmanager
def serving(root: Path) -> Iterator[dict[str, str]]:
    """Serve the bucket `bucket` in a directory: what a user's environment would say of it.

    Skips the test where the programs are not installed.
    """
    for program in ("versitygw", "rclone"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    (root / "bucket").mkdir(parents=True)
    port = _free_port()
    argv = ["versitygw", "--port", f"127.0.0.1:{port}", "posix", str(root)]
    env = {**os.environ, "ROOT_ACCESS_KEY": _KEY, "ROOT_SECRET_KEY": _SECRET}
    server = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until_it_answers(port)
        yield {
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }
    finally:
        server.terminate()
        server.wait(10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _until_it_answers(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise TimeoutError(f"nothing answers on port {port}")
