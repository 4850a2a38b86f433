"""A real object store on loopback: versitygw, whose buckets are directories and whose objects are files."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopback import HOST, free_port, listening

_PATH = f"{os.environ.get('PATH', os.defpath)}:{Path(__file__).parents[2] / '.tools/versitygw'}"
_KEY, _SECRET = "thekeysid", "verysecretkey"


@contextlib.contextmanager
def serving(root: Path, port: int | None = None) -> Iterator[dict[str, str]]:
    """Serve the bucket `bucket` in a directory: what a user's environment would say of it.

    Skips the test where the programs are not installed; `make versitygw` builds one.
    """
    for program in ("versitygw", "rclone"):
        if shutil.which(program, path=_PATH) is None:
            pytest.skip(f"{program} is not installed")
    (root / "bucket").mkdir(parents=True)
    port = port or free_port()
    argv = ["versitygw", "--port", f"{HOST}:{port}", "posix", str(root)]
    env = {**os.environ, "PATH": _PATH, "ROOT_ACCESS_KEY": _KEY, "ROOT_SECRET_KEY": _SECRET}
    server = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        listening("tcp", port)
        yield {
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_ENDPOINT_URL": f"http://{HOST}:{port}",
        }
    finally:
        server.terminate()
        server.wait()
