"""`use: transfer`: its stages with stand-ins for the clients, with real scp, and how failures count."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

import object_store
import sshd as sshd_server
from steelyard.errors import ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.workloads.transfer import Transfer, TransferOptions

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
TO = Endpoint("10.0.0.1", 1094, {"protocol": "xrootd", "path": "/"})

# Stands in for xrdcp: a URL is a directory here; what is in FAIL is refused, what is in CUT is cut short.
XRDCP = """#!/bin/sh
set -eu
for word; do from=${to:-}; to=$word; done
case " ${FAIL:-} " in *" ${to##*/} "*) echo "[ERROR] no space for $to" >&2; exit 54;; esac
from=$(echo "$from" | sed 's#^root://[^/]*/#'"$STORE#"); to=$(echo "$to" | sed 's#^root://[^/]*/#'"$STORE#")
mkdir -p "$(dirname "$to")"; cp "$from" "$to"
case " ${CUT:-} " in *" ${to##*/} "*) echo short > "$to";; esac
"""
XRDFS = """#!/bin/sh
set -eu
case $2 in
stat) echo "Path: $3"; echo "Size:   $(stat -c %s "$STORE$3")"; echo "Flags: 48";;
rm) rm "$STORE$3";;
rmdir) rmdir "$STORE$3";;
esac
"""


class Stage:
    """Runs the phases of a copy one by one, with the clients of `bin` first on PATH."""

    def __init__(self, base: Path, **env: str) -> None:
        self.scratch, self.store, self.bin = base / "scratch", base / "store", base / "bin"
        for folder in (self.scratch, self.store, self.bin):
            folder.mkdir()
        for name, script in (("xrdcp", XRDCP), ("xrdfs", XRDFS)):
            (self.bin / name).write_text(script)
            (self.bin / name).chmod(0o755)
        self.env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "STORE": str(self.store), **env}
        self.raw: dict[str, Path] = {}

    def run(
        self, workload: Transfer, name: str, to: Endpoint | None = TO
    ) -> subprocess.CompletedProcess[str]:
        raw = self.raw.setdefault(name, self.scratch.parent / f"raw-{name}-{len(self.raw)}")
        raw.mkdir(exist_ok=True)
        place = Place(PurePosixPath(self.scratch), PurePosixPath(raw), 2, 2**30, seed=3, copy=1, to=to)
        command = next(phase.command for phase in workload.phases(place) if phase.name == name)
        return subprocess.run(
            command.argv,
            cwd=self.scratch,
            env={**self.env, **command.env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def reading(self, workload: Transfer):
        raw = {path.name: path for path in self.raw["run"].iterdir()}
        return workload.parse("run", Output(EXIT, "", "", raw))


def made(**options) -> Transfer:
    return Transfer(TransferOptions.model_validate({"files": 5, "file_size": "4KiB", **options}))


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_files_are_made_moved_compared_and_removed(direction, tmp_path):
    stage, workload = Stage(tmp_path), made(direction=direction, concurrency=3)
    for name in ("prepare", "run", "verify"):
        done = stage.run(workload, name)
        assert done.returncode == 0, done.stderr
    there = stage.store / "steelyard-3-1"
    assert sorted(path.stat().st_size for path in there.iterdir()) == [4096] * 5
    assert len({path.read_bytes() for path in there.iterdir()}) == 5, "random bytes, all different"
    values = stage.reading(workload).values
    assert values["failure_rate"] == 0
    assert values["throughput"] == pytest.approx(values["file_rate"] * 4096)
    assert 0 < values["file_time_p50"] <= values["file_time_p99"]
    assert sum(stage.reading(workload).histograms["file_time"].values()) == 5
    assert stage.run(workload, "remove").returncode == 0
    assert not there.exists()
    assert not (stage.scratch / "source").exists()


def test_files_that_fail_are_counted_and_are_no_throughput(tmp_path):
    stage, workload = Stage(tmp_path, FAIL="file-2 file-4"), made()
    for name in ("prepare", "run", "verify", "remove"):
        done = stage.run(workload, name)
        assert done.returncode == 0, done.stderr
    reading = stage.reading(workload)
    assert reading.values["failure_rate"] == pytest.approx(0.4)
    assert reading.values["throughput"] == pytest.approx(reading.values["file_rate"] * 4096)
    assert sum(reading.histograms["file_time"].values()) == 3
    assert "no space for" in (stage.raw["run"] / "errors.txt").read_text()


def test_when_all_files_fail_the_copy_fails_and_says_why(tmp_path):
    stage, workload = Stage(tmp_path, FAIL=" ".join(f"file-{n}" for n in range(1, 6))), made()
    stage.run(workload, "prepare")
    done = stage.run(workload, "run")
    assert done.returncode == 1
    assert "[ERROR] no space for" in done.stderr


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_a_file_that_arrived_short_is_found_out(direction, tmp_path):
    stage, workload = Stage(tmp_path), made(direction=direction)
    stage.run(workload, "prepare")
    stage.env["CUT"] = "file-3"
    assert stage.run(workload, "run").returncode == 0
    done = stage.run(workload, "verify")
    assert done.returncode == 1
    said = "file-3 has 6 bytes there, not 4096" if direction == "upload" else "4 of 5 files were complete"
    assert said in done.stderr


def test_sources_of_downloads_that_cannot_be_put_there_fail_before_the_measurement(tmp_path):
    stage = Stage(tmp_path, FAIL="file-1")
    done = stage.run(made(direction="download"), "prepare")
    assert done.returncode == 1
    assert "no space for" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 0 1.5 2.5\n",
        "run 0 2.5 1.5\n",
        "run 6 1.5 2.5\n",
        "1 0 1.5 2.5\nrun 0 1.5 2.5\n",
        "x\nrun 0 1.0 2.0\n",
    ],
)
def test_a_damaged_list_is_no_reading(text, tmp_path):
    (tmp_path / "files.txt").write_text(text)
    with pytest.raises(ParseFailure):
        made().parse("run", Output(EXIT, "", "", {"files.txt": tmp_path / "files.txt"}))


def commands(to: Endpoint | None = TO, copy: int = 0, **options) -> dict[str, str]:
    place = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=3, copy=copy, to=to)
    return dict(made(**options).phases(place)[1].command.env)


def test_the_service_says_which_protocol_and_where():
    assert commands()["URL"] == "root://10.0.0.1:1094//steelyard-3-0"
    facts = {"protocol": "gridftp", "servers": "10.0.0.1:5,10.0.0.2:6", "paths": "/a,/b"}
    env = commands(replace(TO, facts=facts), copy=1)
    assert (env["URL"], env["FOLDER"]) == ("ftp://10.0.0.2:6/b/steelyard-3-1", "/b/steelyard-3-1")


@pytest.mark.parametrize(
    ("options", "url", "port"),
    [
        ({"protocol": "xrootd", "path": "/data/"}, "root://far:1094//data/steelyard-3-0", "1094"),
        ({"protocol": "gridftp", "secure": True}, "gsiftp://far:2811/steelyard-3-0", "2811"),
        ({"protocol": "s3", "path": "/bucket", "secure": True}, "bucket/steelyard-3-0", "443"),
        ({"protocol": "scp"}, "far:steelyard-3-0", "22"),
        ({"protocol": "scp", "path": "/data", "port": 23}, "far:/data/steelyard-3-0", "23"),
    ],
)
def test_a_server_that_runs_already(options, url, port):
    env = commands(None, server="far", **options)
    assert (env["URL"], env["PORT"]) == (url, port)


def test_without_a_server_every_stage_says_what_to_do():
    place = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, 1)
    phases = made().phases(place)
    assert [phase.name for phase in phases] == ["prepare", "run", "verify", "remove"]
    assert all("name a service with 'to:'" in phase.command.argv[-1] for phase in phases)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"protocol": "scp", "streams": 2}, "raise concurrency"),
        ({"server": "far"}, "give the protocol of the server"),
        ({"path": "/a;b"}, "a path may have letters"),
        ({"path": "/a/../b"}, "no '..'"),
        ({"server": "-oProxyCommand=x", "protocol": "scp"}, "not a host name"),
        ({"file_size": "0B"}, "must be above 0"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        made(**options)


@pytest.fixture
def sshd(tmp_path):
    server = sshd_server.Sshd(tmp_path / "sshd", "Subsystem sftp internal-sftp")
    server.start()
    yield server, sshd_server.ME
    server.stop()


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_real_scp(direction, tmp_path, sshd):
    server, me = sshd
    config = tmp_path / "ssh_config"
    config.write_text(f"User {me}\nIdentityFile {server.key}\nUserKnownHostsFile {server.known}\n")
    stage = Stage(tmp_path)
    options = {"protocol": "scp", "server": server.host, "port": server.port, "path": str(stage.store)}
    workload = made(direction=direction, concurrency=2, ssh_config=str(config), **options)
    for name in ("prepare", "run", "verify", "remove"):
        done = stage.run(workload, name, None)
        assert done.returncode == 0, done.stderr
    assert stage.reading(workload).values["failure_rate"] == 0
    assert list(stage.store.iterdir()) == []


@pytest.mark.full
@pytest.mark.parametrize("direction", ["upload", "download"])
def test_real_s3(direction, tmp_path):
    with object_store.serving(tmp_path / "s3") as keys:
        stage, port = Stage(tmp_path, **keys), int(keys["AWS_ENDPOINT_URL"].rpartition(":")[2])
        options = {"protocol": "s3", "server": "127.0.0.1", "port": port, "path": "bucket", "streams": 3}
        workload = made(direction=direction, concurrency=2, **{**options, "files": 2, "file_size": "12MiB"})
        for name in ("prepare", "run", "verify", "remove"):
            done = stage.run(workload, name, None)
            assert done.returncode == 0, done.stderr
    assert stage.reading(workload).values["failure_rate"] == 0
    assert keys["AWS_SECRET_ACCESS_KEY"] not in str(
        workload.phases(Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, 1))
    )
    assert list((tmp_path / "s3" / "bucket").rglob("file-*")) == []
