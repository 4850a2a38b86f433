"""`use: s3` for real: whom it lets in, what it keeps and counts, and that `transfer` reaches it."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

import steelyard
from loading import loaded
from steelyard.services.kit.capabilities import Metered
from steelyard.services.kit.certificates import Authority
from steelyard.services.s3 import S3
from steelyard.testing.contract.suite import skip_without
from steelyard.workloads.transfer.protocols import RCLONE

databases = loaded(Path(__file__).with_name("test_databases.py"))
HASH = "x-amz-content-sha256: UNSIGNED-PAYLOAD"


async def http(made: Any, endpoint: Any, path: str, *words: str, password: str | None = None) -> str:
    """What curl prints, and the status at its end; signed where there is a password."""
    lines = [f'user = "{endpoint.facts["user"]}:{password}"', f'header = "{HASH}"'] if password else []
    lines += [f'aws-sigv4 = "aws:amz:{endpoint.facts["region"]}:s3"'] if password else []
    config = made.place / "client.conf"
    config.write_text("\n".join(lines) + "\n")
    url = endpoint.facts["AWS_ENDPOINT_URL"] + path
    argv = ("curl", "-sS", "--noproxy", "*", "--config", str(config), "-w", " %{http_code}", *words, url)
    done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_nobody_is_let_in_without_the_secret():
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        bucket = f"/{endpoint.facts['path']}"
        assert (await http(made, endpoint, "/", password=endpoint.password)).endswith(" 200")
        for password in (None, "wrong"):
            for words in (("-X", "GET"), ("-T", "/etc/hostname"), ("-X", "DELETE")):
                assert (await http(made, endpoint, f"{bucket}/x", *words, password=password))[-4:] in (
                    " 403",
                    " 401",
                ), words
        for server in service.servers:
            cmdline = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
            assert b"versitygw" in cmdline or b"/fd/9" in cmdline
            assert endpoint.password.encode() not in cmdline
        login = service.scratch(made.hosts[0]) / "login.conf"
        assert Path(login).stat().st_mode & 0o007 == 0

    databases.with_service("s3", {}, test)


def test_it_takes_no_plain_connection_where_it_speaks_tls_and_is_signed_by_its_own_authority():
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        its, others = made.place / "its.pem", made.place / "others.pem"
        its.write_text(endpoint.authority)
        others.write_text(Authority().certificate)
        believed = await http(made, endpoint, "/", "--cacert", str(its), password=endpoint.password)
        assert believed.endswith(" 200")
        assert "certificate" in await http(made, endpoint, "/", "--cacert", str(others))
        plain = f"http://{endpoint.address}:{endpoint.port}/"
        assert "<Name>" not in await http(made, endpoint, "/", "--next", "-s", plain)

    databases.with_service("s3", {"tls": True}, test, hosts=1)


@pytest.mark.parametrize("metadata", ["attributes", "files"])
def test_objects_outlive_a_crash_and_are_counted(metadata):
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        assert isinstance(service, Metered)
        empty = {"live_servers": 1, "objects": 0, "used_bytes": 0}
        assert await service.read_meters() == empty
        text = made.place / "text"
        text.write_text("x" * 1000)
        path = f"/{endpoint.facts['path']}/a/b"
        for name in ("1", "2"):
            put = await http(made, endpoint, path + name, "-T", str(text), password=endpoint.password)
            assert put.endswith(" 200"), put
        await service.kill("local")
        assert (await service.read_meters()).get("objects", 0) == 0
        await service.restart("local")
        got = await http(made, endpoint, f"{path}1", password=endpoint.password)
        assert got == "x" * 1000 + " 200"
        assert await service.read_meters() == {"live_servers": 1, "objects": 2, "used_bytes": 2000}

    databases.with_service("s3", {"metadata": metadata}, test, hosts=1)


@pytest.mark.parametrize("bucket", ["ab", "-abc", "a/../b", "UPPER", "a" * 64])
def test_a_name_that_no_bucket_may_have_is_refused(bucket):
    assert "bucket" in databases.refused("s3", {"bucket": bucket})


@pytest.mark.parametrize(
    "workload",
    [
        {"use": "transfer", "files": 3, "file_size": "1MiB", "concurrency": 2},
        {"use": "transfer", "files": 1, "file_size": "6MiB", "streams": 2, "direction": "download"},
        {
            "use": "command",
            "script": '[ ${#STEELYARD_SERVICE_PASSWORD} -gt 15 ] && curl -s "$AWS_ENDPOINT_URL" --cacert '
            "/dev/stdin <<END | grep AccessDenied\n$STEELYARD_SERVICE_AUTHORITY\nEND",
        },
    ],
    ids=["upload", "download", "command"],
)
def test_workloads_reach_it(workload, enterable_scratch, tmp_path):
    skip_without([*S3.needs, RCLONE])
    experiment = steelyard.Experiment(
        experiment="objects",
        roles={"store": 2, "client": 1},
        services={"s3": {"use": "s3", "tls": True, "on": "store", "region": "eu-west-1"}},
        workload={**workload, "on": "client", "to": "s3"},
        repeat=1,
        disturbed="exclude",
    )
    run = steelyard.run(experiment, site="local:3", store=tmp_path)
    (row,) = run.rows()
    assert row["status"] == "ok", str(run.record.trial_document(1))
    assert row.get("failure_rate", 0) == 0
