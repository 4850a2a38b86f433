"""Real servers on the loopback for the examples of workloads that talk to one, started without Steelyard."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import object_store
from loading import loaded
from loopback import HOST, free_port, listening
from patience import until
from steelyard.model.command import Endpoint
from steelyard.model.tool import Tool
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.testing.contract.bench import deployed_service
from steelyard.testing.contract.suite import skip_without
from steelyard.tools.find import install_directory
from steelyard.workloads.base import ANY_SERVICE, Workload

slurm_cluster = loaded(Path(__file__).parents[1] / "sites" / "slurm_cluster.py")
PASSWORD = "only-for-tests"  # of servers that last as long as a test, on the loopback
Server = Callable[[ExitStack, int, Path], dict[str, str]]


def place_of_server(workload: Workload[Any]) -> Endpoint | None:
    """Where a server might be, for commands that are only looked at."""
    name = kind(workload)
    return Endpoint(HOST, 4711, {"protocol": name, "path": "/scratch/t1"}) if name else None


def kind(workload: Workload[Any]) -> str:
    """The service that an example is meant for; empty when for none."""
    names = workload.find_services() - {ANY_SERVICE}
    return getattr(workload.options, "protocol", min(names)) if len(names) > 1 else next(iter(names), "")


@contextmanager
def serving(workload: Workload[Any]) -> Iterator[Endpoint | None]:
    """A server for as long as the block lasts, or None. Skips where its program is missing."""
    if workload.engine_name():
        with serving_jobs():
            yield None
        return
    name = kind(workload)
    if not name:
        yield None
        return
    port = free_port()
    # Servers that give up root must be able to enter it; pytest's own directories are for us alone.
    with tempfile.TemporaryDirectory(prefix="steelyard-test-", dir="/tmp") as place, ExitStack() as scope:
        folder = Path(place)
        folder.chmod(0o777)
        serve = SERVERS.get(name) or netbench(workload.options)
        facts = serve(scope, port, folder)
        password, authority = facts.pop("password", None), facts.pop("authority", None)
        yield Endpoint(HOST, port, {"protocol": name, **facts}, password, authority)


@contextmanager
def serving_jobs() -> Iterator[None]:
    """A Slurm cluster of one node."""
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch, ExitStack() as scope:
        running = contextmanager(slurm_cluster.running_cluster)(Path(place) / "slurm", nodes=1)
        patch.setenv("SLURM_CONF", str(scope.enter_context(running)))
        yield


def iperf3(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    started(scope, folder, "iperf3", "--server", "--bind", HOST, "--port", str(port))
    listening("tcp", port)
    return {}


def sockperf(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    for protocol in ("tcp", "udp"):
        started(scope, folder, "sockperf", "server", "--ip", HOST, "--port", str(port), *FLAG[protocol])
        listening(protocol, port)
    return {}


def netbench(asked: Any) -> Server:
    """One that answers in the sizes of the workload, which both sides must know."""
    request, response = {"stream_id": 0, "bytes": asked.request}, {"stream_id": 0, "bytes": asked.response}
    answer = [{"receive": request}, {"send": response}]
    endless = {"iterate": {"value": {"count": {"amount": 10**12}}, "operations": answer}}
    keys = {"private_key": 0, "certificate": 0, "certificate_authority": 0}
    servers = [{"connections": [{"peer_streams": [[endless]]}], **keys}]

    def serve(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
        plan = folder / "scenario.json"
        plan.write_text(json.dumps({"id": "", "clients": [], "servers": servers}))
        name = "s2n-netbench-driver-server-tcp"
        place = (
            install_directory(Tool("s2n-netbench-driver-client-tcp", cargo="s2n-netbench-driver-tcp")) / "bin"
        )
        program = str(place / name) if place.is_dir() else name
        started(scope, folder, program, "--ip", HOST, "--port", str(port), str(plan))
        listening("tcp", port)
        with socket.create_connection((HOST, port), 20) as first:  # it fills its memory for the first one
            first.sendall(bytes(8 + asked.request))
            assert first.recv(1)
        return {}

    return serve


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
    words = ("-c", str(folder / "xrootd.cfg"), "-s", str(folder / "server.pid"), "-I", "v4")
    started(scope, folder, "xrootd", *as_nobody, *words)
    listening("tcp", port)
    return {"path": "/"}


def gridftp(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    addresses = ("-control-interface", HOST, "-data-interface", HOST, "-allow-from", HOST)
    user = ("-anonymous-user", "nobody", "-anonymous-group", "nogroup") if os.geteuid() == 0 else ()
    started(scope, folder, "globus-gridftp-server", "-aa", "-p", str(port), *addresses, *user)
    listening("tcp", port)
    return {"path": str(folder)}


def cassandra(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    """By its service: a file of a hundred settings of our own would be no less Steelyard's."""
    ring = loaded(Path(__file__).with_name("ring.py"))
    to = scope.enter_context(ring.ring(port=port, tls=True))
    return {**to.facts, "password": to.password, "authority": to.authority}


def redis(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    lines = [f"bind {HOST}", f"port {port}", f"dir {folder}", 'save ""', f"requirepass {PASSWORD}"]
    (folder / "redis.conf").write_text("\n".join(lines) + "\n")
    started(scope, folder, "redis-server", str(folder / "redis.conf"))
    listening("tcp", port)
    return {"arrangement": "independent", "password": PASSWORD}


def etcd(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    clients, peers = f"http://{HOST}:{port}", f"http://{HOST}:{free_port()}"
    where = ("--listen-client-urls", clients, "--advertise-client-urls", clients)
    among = ("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers)
    started(
        scope, folder, "etcd", "--data-dir", "data", *where, *among, "--initial-cluster", f"default={peers}"
    )
    listening("tcp", port)
    return {}


def memcached(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    where = ("-u", "nobody", "-l", HOST, "-p", str(port), "-U", "0")
    started(scope, folder, "memcached", *where)
    listening("tcp", port)
    return {}


def postgresql(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    """The server refuses to be root."""
    as_nobody = (
        ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups") if os.geteuid() == 0 else ()
    )
    initdb, server = postgresql_program("initdb"), postgresql_program("postgres")
    (folder / "password").write_text(PASSWORD)
    words = ("--pgdata=db", "--username=steelyard", "--auth=scram-sha-256", "--pwfile=password", "--no-sync")
    subprocess.run((*as_nobody, initdb, *words), cwd=folder, check=True, capture_output=True)
    settings = {"listen_addresses": HOST, "port": port, "unix_socket_directories": "", "fsync": "off"}
    flags = [f"--{name}={value}" for name, value in settings.items()]
    started(scope, folder, *as_nobody, server, "-D", "db", *flags)
    # It listens before it has read its log, and turns away who comes so early.
    ready = "database system is ready to accept connections"
    assert until(lambda: ready in (folder / "log").read_text()), (folder / "log").read_text()
    return {"user": "steelyard", "database": "postgres", "password": PASSWORD}


def postgresql_program(name: str) -> str:
    """On PATH, or where Debian has those of the newest version."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[4]))
    found = shutil.which(name) or (str(places[-1]) if places else None)
    return found or pytest.skip(f"{name} of PostgreSQL is not installed")


def s3(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    variables = scope.enter_context(object_store.serving(folder / "store", port))
    user, secret = variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"]
    return {"user": user, "password": secret, "region": "us-east-1", "tls": "false"}


def ceph(scope: ExitStack, port: int, folder: Path) -> dict[str, str]:
    """By its service: a cluster is more than a program that is started."""
    kind = find("services", "ceph", Service)
    skip_without(kind.needs)
    endpoint = scope.enter_context(deployed_service("ceph", kind.examples[0]))
    return {**endpoint.facts, "password": endpoint.password or ""}


FLAG = {"tcp": ("--tcp",), "udp": ()}
SERVERS: dict[str, Server] = {
    "cassandra": cassandra,
    "ceph": ceph,
    "redis": redis,
    "memcached": memcached,
    "etcd": etcd,
    "postgresql": postgresql,
    "iperf3": iperf3,
    "sockperf": sockperf,
    "xrootd": xrootd,
    "gridftp": gridftp,
    "s3": s3,
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
