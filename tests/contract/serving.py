"""Real servers on the loopback for the examples of workloads that talk to one, started without Steelyard."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.command import Endpoint
from steelyard.workloads.base import Workload

HOST = "127.0.0.1"


def place_of_server(workload: Workload[Any]) -> Endpoint | None:
    """Where a server might be, for commands that are only looked at."""
    name = kind(workload)
    return Endpoint(HOST, 4711, {"protocol": name, "path": "/scratch/t1"}) if name else None


def kind(workload: Workload[Any]) -> str:
    """The service that an example is meant for; empty when for none."""
    names = workload.talks_to
    return getattr(workload.chosen, "protocol", None) if len(names) > 1 else next(iter(names), "")


@contextmanager
def serving(workload: Workload[Any]) -> Iterator[Endpoint | None]:
    """A server for as long as the block lasts, or None. Skips where its program is missing."""
    name = kind(workload)
    if not name:
        yield None
        return
    port = free_port()
    # Servers that give up root must be able to enter it; pytest's own directories are for us alone.
    with tempfile.TemporaryDirectory(prefix="steelyard-test-", dir="/tmp") as place, ExitStack() as scope:
        folder = Path(place)
        folder.chmod(0o777)
        facts = SERVERS[name](scope, port, folder)
        yield Endpoint(HOST, port, {"protocol": name, **facts})


def iperf3(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    started(scope, folder, "iperf3", "--server", "--bind", HOST, "--port", str(port))
    listening("tcp", port)
    return {}


def sockperf(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    for protocol in ("tcp", "udp"):
        started(scope, folder, "sockperf", "server", "--ip", HOST, "--port", str(port), *FLAG[protocol])
        listening(protocol, port)
    return {}


def xrootd(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    data = folder / "data"
    data.mkdir()
    data.chmod(0o777)
    lines = [
        "all.export /",
        f"oss.localroot {data}",
        f"all.adminpath {folder}",
        f"all.pidpath {folder}",
        f"xrd.port {port}",
        f"xrd.allow host {HOST}",
    ]
    (folder / "xrootd.cfg").write_text("\n".join(lines) + "\n")
    as_nobody = ("-R", "nobody") if os.geteuid() == 0 else ()
    started(scope, folder, "xrootd", *as_nobody, "-c", str(folder / "xrootd.cfg"), "-I", "v4")
    listening("tcp", port)
    return {"path": "/"}


def gridftp(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    addresses = ("-control-interface", HOST, "-data-interface", HOST, "-allow-from", HOST)
    user = ("-anonymous-user", "nobody", "-anonymous-group", "nogroup") if os.geteuid() == 0 else ()
    started(scope, folder, "globus-gridftp-server", "-aa", "-p", str(port), *addresses, *user)
    listening("tcp", port)
    return {"path": str(folder)}


FLAG = {"tcp": ("--tcp",), "udp": ()}
SERVERS: dict[str, Callable[[ExitStack, int, Path], dict[str, str]]] = {
    "iperf3": iperf3,
    "sockperf": sockperf,
    "xrootd": xrootd,
    "gridftp": gridftp,
}


def started(scope: ExitStack, folder: Path, *argv: str) -> None:
    """Start a server that ends with the scope."""
    program = shutil.which(argv[0], path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None:
        pytest.skip(f"{argv[0]} is not installed")
    log = scope.enter_context((folder / "log").open("ab"))
    # A session of its own: a GridFTP server that is ended ends its whole process group.
    process = subprocess.Popen(
        (program, *argv[1:]),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    scope.callback(process.wait, 10)
    scope.callback(process.terminate)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def listening(protocol: str, port: int, seconds: float = 20.0) -> None:
    """Wait until the kernel's table has it: a connection might be taken for a client."""
    deadline = time.monotonic() + seconds
    state = {"tcp": "0A", "udp": "07"}[protocol]
    while time.monotonic() < deadline:
        for line in Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(f":{port:04X}") and fields[3] == state:
                return
        time.sleep(0.02)
    pytest.fail(f"nothing listens on {protocol} port {port} after {seconds} s")
