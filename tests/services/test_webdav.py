"""`use: webdav` for real: whom it lets in, what stays, and that `transfer` reaches it."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

import steelyard
from loading import loaded
from steelyard.services.webdav import Webdav
from steelyard.testing.contract.suite import skip_without

databases = loaded(Path(__file__).with_name("test_databases.py"))


async def http(made: Any, url: str, *words: str, password: str | None = None) -> str:
    """What curl prints, and the status at its end."""
    config = made.place / "client.conf"
    config.write_text(f'user = "steelyard:{password}"\n' if password else "")
    argv = ("curl", "-sS", "--noproxy", "*", "--config", str(config), "-w", " %{http_code}", *words, url)
    done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_nobody_is_let_in_without_the_password_and_files_outlive_a_crash():
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        url = f"http://{endpoint.address}:{endpoint.port}/x"
        for password in (None, "wrong"):
            for words in (("-X", "GET"), ("-T", "/etc/hostname"), ("-X", "DELETE"), ("-X", "PROPFIND")):
                assert (await http(made, url, *words, password=password)).endswith(" 401")
        assert (await http(made, url, "-T", "/etc/hostname", password=endpoint.password)).endswith(" 201")
        assert (
            endpoint.password.encode()
            not in Path(f"/proc/{service.servers[0].process.pid}/cmdline").read_bytes()
        )
        await service.kill("local")
        await service.restart("local")
        got = await http(made, url, password=endpoint.password)
        assert got == Path("/etc/hostname").read_text() + " 200"

    databases.with_service("webdav", {}, test, hosts=1)


@pytest.mark.parametrize("options", [{"concurrency": 2}, {"direction": "download", "streams": 2}], ids=str)
def test_transfer_reaches_it(options, enterable_scratch, tmp_path):
    skip_without(Webdav.needs)
    experiment = steelyard.Experiment(
        experiment="dav",
        roles={"store": 2, "client": 1},
        services={"dav": {"use": "webdav", "tls": True, "on": "store"}},
        workload={"use": "transfer", "files": 3, "file_size": "1MiB", "on": "client", "to": "dav", **options},
        repeat=1,
        disturbed="exclude",
    )
    run = steelyard.run(experiment, site="local:3", store=tmp_path)
    (row,) = run.rows()
    assert row["status"] == "ok", str(run.record.trial_document(1))
    assert row["failure_rate"] == 0
