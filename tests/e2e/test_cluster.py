"""`steelyard cluster` on this machine: small databases in seconds, one ring of Cassandra for all the rest."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import object_store
from loading import loaded
from steelyard.services.cassandra.home import CASSANDRA
from steelyard.tools.find import install_directory

clusters = loaded(Path(__file__).with_name("clusters.py"))
until = clusters.until
needs_redis = pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
REDIS = ("--database", "redis", "-nT", "1")


@pytest.fixture
def bench() -> Iterator[Any]:
    with clusters.bench() as found:
        yield found


def shell(script: str) -> str:
    """A shell script as --appl takes it."""
    return f"sh -c {shlex.quote(script)}"


@needs_redis
def test_the_application_runs_here_and_its_exit_code_is_ours(bench: Any) -> None:
    (bench.place / "here").write_text("found")
    app = shell('cat here; echo " $STEELYARD_CORES $#" "$0"; echo oh >&2; exit 7') + " 'a b' '${c}'"
    done = bench.cluster("run", *REDIS, "--finish", "--logs", "logs", "--appl", app)
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("found ")
    assert done.stdout.endswith("1 a b\n"), "words come as they were typed"
    assert "oh\n" in done.stderr
    (link,) = (bench.place / "logs").iterdir()
    assert (link / "journal.ndjson").exists()
    assert bench.ending()["state"] == "complete"
    assert not bench.bearers()
    assert not bench.left()


@needs_redis
@pytest.mark.parametrize(
    ("app", "code"), [("no-such-program", 127), ("sh -c 'kill -9 $$'", 137), ("true", 0), (None, 0)]
)
def test_exit_codes_are_those_of_a_shell(bench: Any, app: str | None, code: int) -> None:
    done = bench.cluster("run", *REDIS, "--finish", *(("--appl", app) if app else ()))
    assert done.returncode == code, done.stderr


@needs_redis
def test_a_failure_of_ours_is_125(bench: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = f"port={taken.getsockname()[1]}"
        done = bench.cluster("run", *REDIS, "--set", port, "--appl", "true")
    assert done.returncode == 125, done.stderr
    assert "port" in done.stderr
    assert not bench.journal("run-held"), "nothing is there to be held"
    assert not bench.bearers()


@needs_redis
@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun is installed (Open MPI)")
def test_an_mpi_application_has_its_ranks_on_all_of_its_nodes(bench: Any) -> None:
    app = shell("echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE at $STEELYARD_SERVICE_PORT")
    words = ("run", "--database", "redis", "-nC", "1", "-nA", "2", "--disjoint", "--finish", "--mpi", "2")
    done = bench.cluster(*words, "--appl", app)
    assert done.returncode == 0, done.stderr
    assert sorted(line[:11] for line in done.stdout.splitlines()) == [f"rank {n} of 4" for n in range(4)]


RUNCOMPSS = """#!/bin/sh
grep -c . "$COMPSS_STORAGE_CONF_FILE"; grep -c '<ComputeNode' "$COMPSS_PROJECT_FILE"; echo "$4 $5"; exit 6
"""


@needs_redis
def test_a_pycompss_application_is_started_by_runcompss(bench: Any) -> None:
    """By a stand-in: the real one is in no registry."""
    (bench.place / "bin").mkdir(mode=0o755)
    (bench.place / "bin" / "runcompss").write_text(RUNCOMPSS)
    (bench.place / "bin" / "runcompss").chmod(0o755)
    bench.env["PATH"] = f"{bench.place}/bin:{bench.env['PATH']}"
    words = ("run", "--database", "redis", "-nC", "1", "-nA", "2", "-d", "--finish")
    done = bench.cluster(*words, "--pycompss", "--lang=python", "--appl", "app.py 3")
    assert done.returncode == 6, done.stderr
    assert done.stdout == "1\n2\n--lang=python app.py\n"


@needs_redis
def test_two_at_once_each_by_its_name(bench: Any) -> None:
    for name, nodes in (("one", "1"), ("two", "2")):
        done = bench.cluster("run", *REDIS[:2], "-nT", nodes, "-j", name, "--detach")
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == bench.runs()[-1].name
    one, two = bench.comes_to("holding", "one"), bench.comes_to("holding", "two")
    assert (len(one["nodes"]["ring"]), len(two["nodes"]["ring"])) == (1, 2)
    assert one["services"]["ring"]["port"] != two["services"]["ring"]["port"], "they do not want one port"
    assert "password" not in json.dumps([one, two])
    for control in (bench.store / "runs").glob("*/control.json"):
        assert stat.S_IMODE(control.stat().st_mode) == 0o600
    ambiguous = bench.cluster("stop")
    assert ambiguous.returncode == 2
    assert "one " in ambiguous.stderr
    assert "two " in ambiguous.stderr
    assert len(bench.status()) == 2
    joined = bench.cluster("attach", "two", "--appl", shell("echo $STEELYARD_SERVICE_PORT; exit 5"))
    assert joined.returncode == 5, joined.stderr
    assert joined.stdout.strip() == str(two["services"]["ring"]["port"])
    assert bench.cluster("kill", "one").returncode == 0
    assert until(lambda: isinstance(bench.status(), dict)), "only the other is left"
    assert bench.cluster("STOP", "two").returncode == 0
    assert until(lambda: bench.status() == [])
    assert sorted(bench.ending(run)["state"] for run in bench.runs()) == [
        "cancelled",
        "complete",
        "complete",
    ]
    assert until(lambda: not bench.bearers() and not bench.left())


@needs_redis
def test_stop_waits_for_the_application(bench: Any) -> None:
    flag = bench.place / "go"
    app = shell(f"until [ -e {flag} ]; do sleep 0.05; done; echo done")
    running = bench.starts("run", *REDIS, "--appl", app)
    bench.comes_to("running the application")
    stopped = bench.cluster("stop")
    assert "running the application" in stopped.stdout
    assert bench.status()["stopping"] is True
    taken = bench.cluster("snapshot")
    assert "1 nodes" in taken.stdout, taken.stderr
    assert not bench.journal("snapshot-failed")
    flag.touch()
    said, complaints = running.communicate()
    assert (running.returncode, said) == (0, "done\n"), complaints
    assert not bench.journal("run-held")


@needs_redis
@pytest.mark.parametrize("whom", ["controller", "database"])
def test_what_dies_leaves_nothing(bench: Any, whom: str) -> None:
    running = bench.starts("run", *REDIS)
    bench.comes_to("holding")
    if whom == "controller":
        running.kill()
        running.communicate()
        assert until(lambda: not bench.bearers()), "the minder ends everything"
        assert bench.status() == []
        return
    (server,) = (pid for pid in bench.bearers() if _name(pid) == "redis-server")
    os.kill(server, signal.SIGKILL)
    _, complaints = running.communicate()
    assert running.returncode == 125
    assert "ended by signal 9" in complaints
    assert bench.ending()["state"] == "failed"
    assert not bench.bearers()


def _name(pid: int) -> str:
    """Of its program; its command line redis may write over."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@needs_redis
def test_it_ends_before_its_time_limit(bench: Any) -> None:
    done = bench.cluster("run", *REDIS, "--time", "0:00:35")
    assert done.returncode == 0, done.stderr
    assert bench.ending()["reason"] == "the time limit of its hosts was near"
    assert not bench.bearers()


@needs_redis
def test_an_application_that_outlasts_the_time_limit_is_ended(bench: Any) -> None:
    done = bench.cluster("run", *REDIS, "--time", "0:00:35", "--appl", "sleep 600")
    assert done.returncode == 130, done.stderr
    assert bench.ending()["state"] == "interrupted"
    assert not bench.bearers()


needs_cassandra = pytest.mark.skipif(
    not install_directory(CASSANDRA).is_dir(),
    reason="Cassandra is not installed (steelyard install cassandra)",
)


@needs_cassandra
def test_the_life_of_a_ring(bench: Any) -> None:
    """One ring for all: asked, filled by another job, kept by hand and at its end, recovered by one node."""
    started = bench.cluster("run", "-nT", "2", "-j", "brain", *clusters.SMALL, "--snapshot", "--detach")
    assert started.returncode == 0, started.stderr
    found = bench.comes_to("holding")
    nodes = found["nodes"]["ring"]
    assert [(node["address"], node["state"]) for node in nodes] == [("127.0.0.1", "up"), ("127.0.0.2", "up")]
    assert all(node["load"] and len(node["tokens"]) == 1 for node in nodes)
    table = bench.cluster("status").stdout
    assert "CONTACT_NAMES=127.0.0.1,127.0.0.2" in table
    assert nodes[1]["tokens"][0] in table
    loaded = bench.cluster("attach", "--appl", f"{clusters.CELLS} load 60")
    assert (loaded.returncode, loaded.stdout) == (0, "60\n"), loaded.stderr
    taken = bench.cluster("snapshot", "brain")
    assert taken.returncode == 0, taken.stderr
    assert "60 rows of 2 nodes" in taken.stdout
    assert bench.cluster("stop").returncode == 0
    assert until(lambda: bench.status() == []), bench.log()
    brain = bench.runs()[0]
    assert [line["reason"] for line in bench.journal("snapshot-failed", brain)] == []
    assert bench.ending(brain)["state"] == "complete"
    listed = bench.cluster("snapshots", "--json")
    kept = json.loads(listed.stdout)
    assert [(one["nodes"], one["rows"], one["site"]) for one in kept] == [(2, 60, "local:2")] * 2
    shown = bench.cluster("recover")
    assert shown.returncode == 2
    assert all(one["name"] in shown.stdout for one in kept)
    _recovered(bench, kept[-1]["name"])
    pruned = bench.cluster("snapshots", "--keep", "1")
    assert kept[0]["name"] in pruned.stdout
    assert len(json.loads(bench.cluster("snapshots", "--json").stdout)) == 1
    assert not bench.bearers()
    assert not bench.left()


def _recovered(bench: Any, newest: str) -> None:
    """Without --site it goes where the snapshot was taken; what fails is not kept, though that is planned."""
    app = shell(f"{clusters.CELLS} count; exit 7")
    done = bench.cluster(
        "recover", "--latest", "-nC", "1", *clusters.SMALL[:4], "--snapshot", "--finish", "--appl", app
    )
    assert (done.returncode, done.stdout) == (7, "60\n"), done.stderr
    (line,) = bench.journal("snapshot-recovered")
    assert (line["snapshot"], line["nodes"], line["hosts"]) == (newest, 2, 1)
    assert not bench.journal("snapshot-taken")


@pytest.mark.full
@needs_cassandra
def test_a_ring_is_kept_in_an_object_store_and_comes_back_larger(bench: Any, tmp_path: Path) -> None:
    with object_store.serving(tmp_path / "s3") as keys:
        bench.env |= keys
        words = ("--snapshots", "s3://bucket/rings", "--finish", "--appl")
        load, count = (shell(f"{clusters.CELLS} {what}") for what in ("load 50", "count"))
        done = bench.cluster("run", "-nT", "2", *clusters.SMALL, "--snapshot", *words, load)
        assert done.returncode == 0, done.stderr
        done = bench.cluster("recover", "--latest", "-nC", "3", *clusters.SMALL[:4], *words, count)
        assert (done.returncode, done.stdout) == (0, "50\n"), done.stderr
    (line,) = bench.journal("snapshot-recovered")
    assert (line["nodes"], line["hosts"]) == (2, 3)
    secret = keys["AWS_SECRET_ACCESS_KEY"].encode()
    assert not [path for path in bench.store.rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert not bench.bearers()
    assert not bench.left()


@pytest.mark.full
@needs_cassandra
def test_a_time_limit_in_the_middle_of_a_snapshot_leaves_none(bench: Any) -> None:
    flag, seen = bench.stalls()
    app = shell(f"{clusters.CELLS} load 20; touch {flag}")
    words = ("run", "-nT", "1", *clusters.SMALL, "--snapshot", "--finish", "--time", "0:01:20")
    done = bench.cluster(*words, "--appl", app)
    assert done.returncode == 130, done.stderr
    assert seen.exists(), "the snapshot had begun"
    assert bench.journal("snapshot-begun")
    assert not bench.journal("snapshot-taken")
    flag.unlink()
    assert json.loads(bench.cluster("snapshots", "--json").stdout) == []
    assert until(lambda: not bench.bearers())
    assert not bench.left()
