"""Our bindings with real stores: what is written is read again, by as many clients as there are."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

import steelyard
from loading import loaded
from loopback import free_port, listening
from patience import until
from steelyard.errors import ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.model.metric import Reading
from steelyard.services.kit.certificates import Authority
from steelyard.spec.bind import service_class
from steelyard.tools.find import find_missing
from steelyard.workloads.ycsb import Ycsb

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
HARMLESS = {"read": 3, "update": 2, "insert": 1, "read_modify_write": 1}
RECORDS = 400

serving = loaded(Path(__file__).parents[2] / "contract" / "serving.py")


@pytest.fixture(autouse=True)
def installed():
    for tool in find_missing(Ycsb.needs):
        pytest.skip(f"{tool.name} is not installed: steelyard install {tool.name}")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """Servers that give up root must be able to enter it; pytest's own directories are for us alone."""
    with tempfile.TemporaryDirectory(prefix="steelyard-test-", dir="/tmp") as place:
        Path(place).chmod(0o755)
        yield Path(place)


def made(**options) -> Ycsb:
    content = {"do": "both", "records": RECORDS, "operations": 2000, "threads": 4, "fields": 3, **options}
    return Ycsb(Ycsb.Options.model_validate(content))


class Clients:
    """Runs the phases of all copies, one after the other."""

    def __init__(self, base: Path, to: Endpoint, copies: int = 2) -> None:
        self.base, self.to, self.copies = base, to, copies

    def phase(self, workload: Ycsb, name: str, copy: int = 0) -> tuple[int, Output]:
        raw = self.base / f"{name}.{copy}"
        shutil.rmtree(raw, ignore_errors=True)
        raw.mkdir()
        place = Place(
            PurePosixPath(self.base), PurePosixPath(raw), 2, 2**30, 1, copy, self.copies, to=self.to
        )
        command = next(one.command for one in workload.phases(place) if one.name == name)
        done = subprocess.run(
            command.argv,
            env={**os.environ, **command.variables},
            cwd=self.base,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, Output(EXIT, done.stdout, done.stderr, {p.name: p for p in raw.iterdir()})

    def all(self, workload: Ycsb) -> list[Reading]:
        found = []
        for name in ("create", "load", "run"):
            for copy in range(self.copies):
                code, output = self.phase(workload, name, copy)
                assert code == 0, output.stderr
                found += [workload.parse(name, output)] if name == "run" else []
        return found


def records(to: Endpoint, protocol: str) -> int:
    """How many there are, by a client that is not ours."""
    at, env = (to.address, str(to.port)), {**os.environ, "PGPASSWORD": serving.PASSWORD}
    if protocol == "redis":
        env["REDISCLI_AUTH"] = serving.PASSWORD
        return int(printed(env, "redis-cli", "-h", at[0], "-p", at[1], "--raw", "dbsize"))
    if protocol == "postgresql":
        words = ("-h", at[0], "-p", at[1], "-U", "steelyard", "-d", "postgres", "-Atc")
        return int(printed(env, "psql", *words, "select count(*) from usertable"))
    talk = 'exec 3<>"/dev/tcp/$0/$1"; printf "stats\\r\\nquit\\r\\n" >&3; cat <&3'
    stats = printed(env, "bash", "-c", talk, *at)
    return int(next(line.split()[2] for line in stats.splitlines() if " curr_items " in line))


def printed(env: dict[str, str], *argv: str) -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def store(protocol: str) -> Iterator[Endpoint]:
    with serving.serving(made(protocol=protocol)) as to:
        yield to


@pytest.mark.parametrize(
    "protocol",
    [
        "redis",
        pytest.param("postgresql", marks=pytest.mark.full),
        pytest.param("memcached", marks=pytest.mark.full),
    ],
)
def test_what_was_written_is_read_and_copies_add_records_of_their_own(protocol, tmp_path):
    with store(protocol) as to:
        found = Clients(tmp_path, to).all(made(protocol=protocol, mix=HARMLESS, verify=True))
        added = sum(reading.values["insert_count"] for reading in found)
        assert added > 50
        assert records(to, protocol) == RECORDS + added
    for reading in found:
        assert reading.values["verify_failures"] == 0
        assert reading.values["failed_share"] == 0
        assert reading.values["read_count"] > reading.values["read_modify_write_count"] > 0


@pytest.mark.parametrize("protocol", ["redis", pytest.param("postgresql", marks=pytest.mark.full)])
def test_an_empty_table_is_really_empty_and_scans_stay_in_order(protocol, tmp_path):
    with store(protocol) as to:
        clients = Clients(tmp_path, to, copies=1)
        scans = made(protocol=protocol, mix="e", scan_length=10)
        (first,) = clients.all(scans)
        assert first.values["scan_count"] > 1000
        assert first.values["scan_failures"] == 0
        assert clients.phase(scans, "create")[0] == 0
        assert records(to, protocol) == 0


def test_a_run_without_a_load_says_so(tmp_path):
    with store("redis") as to:
        workload = made(protocol="redis", do="run", mix="c")
        code, output = Clients(tmp_path, to, copies=1).phase(workload, "run")
        assert code == 0
        with pytest.raises(ParseFailure, match="load first"):
            workload.parse("run", output)


def test_a_wrong_password_fails_the_command_and_is_not_told(tmp_path):
    with store("redis") as to:
        wrong = Endpoint(to.address, to.port, to.facts, "not-this-one")
        code, output = Clients(tmp_path, wrong, copies=1).phase(made(protocol="redis"), "load")
    assert code == 1
    assert f"cannot use {to.address}:{to.port}: " in output.stderr
    assert "not-this-one" not in output.stderr + output.stdout


@pytest.mark.parametrize("protocol", ["cql", "redis", "postgresql", "memcached"])
@pytest.mark.full
def test_a_server_that_is_not_there_fails_the_command(protocol, tmp_path):
    gone = Endpoint(serving.HOST, free_port(), {"protocol": protocol})
    for name in ("create", "load", "run"):
        code, output = Clients(tmp_path, gone, copies=1).phase(made(mix="c"), name)
        assert code == 1, f"{name} of {protocol}: {output.stderr}"
        assert "cannot use" in output.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "mix"),
    [("redis", "f"), ("postgresql", "e"), ("memcached", "a"), ("cassandra", {"scan": 1, **HARMLESS})],
)
def test_an_experiment_with_a_service_and_two_clients(kind, mix, open_place):
    for tool in find_missing(service_class(kind).needs):
        pytest.skip(f"{tool.name} is not installed")
    experiment = steelyard.Experiment(
        experiment="clients",
        roles={"db": 1, "client": 2},
        services={"store": {"use": kind, "on": "db"}},
        workload={
            "use": "ycsb",
            "do": "both",
            "on": "client",
            "to": "store",
            "mix": mix,
            "records": RECORDS,
            "operations": 2000,
            "scan_length": 5,
        },
        repeat=1,
        disturbed="include",
    )
    run = steelyard.run(experiment, site="local:3", store=open_place)
    (row,) = run.rows()
    assert row["status"] == "ok", run.record.trial_document(1)
    assert row["failed_share"] == 0
    assert sum(value for name, value in row.items() if name.endswith("_count")) >= 2000
    kept = b"".join(path.read_bytes() for path in open_place.rglob("*") if path.is_file())
    assert b"YCSB_PASSWORD" not in kept


@pytest.mark.full
def test_a_ring_that_is_reached_by_tls_is_believed_if_its_own_authority_signed_it(tmp_path):
    ring = loaded(Path(__file__).parents[2] / "contract" / "ring.py")
    with ring.ring(tls=True) as to:
        for reading in Clients(tmp_path, to).all(made(protocol="cql", mix=HARMLESS)):
            assert reading.values["failed_share"] == 0
        stranger = replace(to, authority=Authority().certificate)
        code, output = Clients(tmp_path, stranger).phase(made(protocol="cql"), "create")
        assert code == 1
        assert f"cannot use {to.address}:" in output.stderr


@pytest.mark.full
def test_a_load_that_lacks_records_fails(tmp_path):
    """A full store refuses them; YCSB alone would end well."""
    with store("redis") as to:
        env = {**os.environ, "REDISCLI_AUTH": serving.PASSWORD}
        printed(env, "redis-cli", "-h", to.address, "-p", str(to.port), "config", "set", "maxmemory", "2mb")
        workload = made(protocol="redis", do="load", operations=None, records=20_000, retries=0)
        code, output = Clients(tmp_path, to, copies=1).phase(workload, "load")
    assert code == 1
    assert "could not be inserted" in output.stderr
    assert "OOM" in output.stderr


def interrupted(to: Endpoint, protocol: str, redis: list[str]) -> None:
    """Something happens to the server once it has clients at work."""
    env = {**os.environ, "PGPASSWORD": serving.PASSWORD, "REDISCLI_AUTH": serving.PASSWORD}
    at = ("-h", to.address, "-p", str(to.port))
    if protocol == "redis":
        printed(env, "redis-cli", *at, *redis)
    else:
        ask = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ycsb'"
        assert "t" in printed(env, "psql", *at, "-U", "steelyard", "-d", "postgres", "-Atc", ask)


def run_with(to: Endpoint, tmp_path: Path, workload: Ycsb, harm: Callable[[], None]) -> Reading:
    """Load, then run, with something that happens two seconds after the first operations."""
    clients = Clients(tmp_path, to, copies=1)
    assert [clients.phase(workload, name)[0] for name in ("create", "load")] == [0, 0]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(clients.phase, workload, "run")
        assert until(lambda: list((tmp_path / "run.0").glob("READ.hdr")))
        time.sleep(2)
        harm()
        code, output = running.result()
    assert code == 0, output.stderr
    return workload.parse("run", output)


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["redis", "postgresql"])
def test_lost_connections_are_failures_and_are_made_anew(protocol, tmp_path):
    paced = made(protocol=protocol, operations=3000, rate="500/s", mix="a")
    with store(protocol) as to:
        kill = ["client", "kill", "type", "normal"]
        reading = run_with(to, tmp_path, paced, lambda: interrupted(to, protocol, kill))
    failed = reading.values["read_failures"] + reading.values["update_failures"]
    assert 1 <= failed <= 50, "each of the four threads loses one"
    succeeded = reading.values["read_count"] + reading.values["update_count"]
    assert succeeded + failed == 3000, "no thread stays without a connection"
    assert reading.facts["reasons"]


@pytest.mark.full
def test_a_store_that_stalls_delays_what_waits_behind_it(tmp_path):
    paced = made(protocol="redis", operations=3000, rate="500/s", mix="c")
    with store("redis") as to:
        pause = ["client", "pause", "1500", "all"]
        reading = run_with(to, tmp_path, paced, lambda: interrupted(to, "redis", pause))
    assert reading.values["read_max"] > 1
    assert reading.values["read_scheduled_p95"] > 0.5, "a quarter of the run waited"
    assert reading.values["read_p95"] < 0.5, "four operations of 3000 were at work then"


def until_it_is_whole(server: str) -> None:
    """A node agrees to its slots a moment after the cluster was made."""
    ask = ("redis-cli", "-p", server.rpartition(":")[2], "cluster", "info")
    assert until(lambda: "cluster_state:ok" in printed(dict(os.environ), *ask))


@pytest.mark.full
def test_a_redis_cluster(tmp_path):
    with ExitStack() as scope:
        servers = []
        for number in range(3):
            port, bus = free_port(), free_port()
            folder = tmp_path / f"node{number}"
            folder.mkdir()
            words = ("--port", str(port), "--cluster-port", str(bus), "--bind", serving.HOST, "--save", "")
            serving.started(scope, folder, "redis-server", *words, "--cluster-enabled", "yes")
            listening("tcp", port)
            servers.append(f"{serving.HOST}:{port}")
        printed(dict(os.environ), "redis-cli", "--cluster", "create", *servers, "--cluster-yes")
        for server in servers:
            until_it_is_whole(server)
        facts = {"protocol": "redis", "arrangement": "cluster", "servers": ",".join(servers)}
        to = Endpoint(serving.HOST, int(servers[0].rpartition(":")[2]), facts)
        clients = Clients(tmp_path, to)
        found = clients.all(made(mix={**HARMLESS, "scan": 1}, verify=True, scan_length=10))
        assert all(one.values["failed_share"] == one.values["verify_failures"] == 0 for one in found)
        each = [
            int(printed(dict(os.environ), "redis-cli", "-p", at.rpartition(":")[2], "dbsize"))
            for at in servers
        ]
        assert min(each) > RECORDS / 6
        assert clients.phase(made(), "create")[0] == 0
        each = [
            int(printed(dict(os.environ), "redis-cli", "-p", at.rpartition(":")[2], "dbsize"))
            for at in servers
        ]
        assert sum(each) == 0
