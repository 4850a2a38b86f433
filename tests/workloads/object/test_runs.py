"""The driver with a real object store, and with servers that are wrong."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from threading import Thread

import pytest

from loopback import HOST, free_port
from object_store import serving
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.testing.contract.suite import skip_without
from steelyard.workloads.object import Object

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
SMALL = {"connections": 2, "containers": 2, "objects": 5, "operations": 60}


@pytest.fixture(autouse=True)
def driver():
    skip_without(Object.needs)


@pytest.fixture
def store(tmp_path) -> Iterator[Endpoint]:
    with serving(tmp_path / "store") as variables:
        port = int(variables["AWS_ENDPOINT_URL"].rpartition(":")[2])
        facts = {"protocol": "s3", "user": variables["AWS_ACCESS_KEY_ID"], "tls": "false"}
        yield Endpoint(HOST, port, facts, variables["AWS_SECRET_ACCESS_KEY"])


def made(**options) -> Object:
    return Object(Object.Options.model_validate({**SMALL, **options}))


def run(stage: str, workload: Object, to: Endpoint, folder: Path) -> tuple[int, Output]:
    raw = folder / f"raw-{stage}"
    raw.mkdir(exist_ok=True)
    place = Place(PurePosixPath(folder), PurePosixPath(raw), 2, 2**30, 5, to=to)
    command = next(phase.command for phase in workload.phases(place) if phase.name == stage)
    done = subprocess.run(
        command.argv,
        env={**os.environ, **command.variables},
        input=command.stdin,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, Output(
        EXIT, done.stdout, done.stderr, {path.name: path for path in raw.iterdir()}
    )


def test_what_is_prepared_is_read_and_everything_is_deleted(store, tmp_path):
    workload = made(mix={"read": 3, "write": 3, "list": 1, "delete": 2}, size={"from": "0B", "to": "200KiB"})
    assert run("prepare", workload, store, tmp_path)[0] == 0
    assert len(list((tmp_path / "store").glob("steelyard-*/p*"))) == 10
    code, output = run("run", workload, store, tmp_path)
    assert code == 0, output.stderr
    reading = workload.parse("run", output)
    assert reading.values["success_ratio"] == 1, reading.facts
    assert sum(reading.values[f"{kind}_throughput"] > 0 for kind in ("read", "write", "list", "delete")) == 4
    assert run("cleanup", workload, store, tmp_path)[0] == 0
    assert not list((tmp_path / "store").glob("steelyard-*"))


def test_an_object_that_was_changed_is_a_failure(store, tmp_path):
    workload = made(mix={"read": 1}, size="10KiB")
    run("prepare", workload, store, tmp_path)
    for path in (tmp_path / "store").glob("steelyard-*-0/p*"):
        content = path.read_bytes()
        path.write_bytes(content[:5000] + b"!" + content[5001:])
    code, output = run("run", workload, store, tmp_path)
    reading = workload.parse("run", output)
    assert (code, set(reading.facts["failures"]["read"])) == (0, {"wrong content"})
    assert 0 < reading.values["success_ratio"] < 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"password": "wrong"}, "refuses to create the container steelyard-5-0-0: status 403"),
        ({"port": 1}, "cannot reach 127.0.0.1:1: Connection refused"),
    ],
)
def test_an_endpoint_that_refuses_is_told(store, tmp_path, change, why):
    code, output = run("prepare", made(), dataclasses.replace(store, **change), tmp_path)
    assert code == 2
    assert why in output.stderr
    assert "wrong" not in output.stderr


class Wrong(BaseHTTPRequestHandler):
    """It answers every request with too few bytes, or not in HTTP."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if "3" in self.path[-1]:
            self.wfile.write(b"hello\r\n\r\n")
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"abc")

    def log_message(self, *_):
        """Nobody reads it."""


@contextmanager
def lying() -> Iterator[Endpoint]:
    with ThreadingHTTPServer((HOST, 0), Wrong) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Endpoint(HOST, server.server_port, {"protocol": "s3", "user": "k", "tls": "false"}, "s")
        server.shutdown()


def test_a_server_that_lies_is_found_out(tmp_path):
    workload = made(mix={"read": 9, "list": 1}, rate="200/s", connections=4)
    with lying() as to:
        code, output = run("run", workload, to, tmp_path)
    reading = workload.parse("run", output)
    assert code == 0
    assert reading.values["success_ratio"] == 0
    assert "wrong length" in reading.facts["failures"]["read"]
    assert any(cause.startswith("malformed answer") for cause in reading.facts["failures"]["read"])
    assert reading.facts["failures"]["list"] == {"incomplete list": reading.values["list_failures"]}


def test_swift_logs_in_and_is_told_when_it_may_not(tmp_path):
    to = Endpoint(HOST, free_port(), {"protocol": "swift", "user": "a:b", "tls": "false"}, "s")
    code, output = run("prepare", made(), to, tmp_path)
    assert (code, "cannot reach" in output.stderr) == (2, True)
    with lying() as to:
        swift = dataclasses.replace(to, facts={**to.facts, "protocol": "swift"})
        code, output = run("prepare", made(), swift, tmp_path)
    assert (code, "refuses to log k in at /auth/v1.0: status 200" in output.stderr) == (2, True)
