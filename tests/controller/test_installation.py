"""Tools installed on the hosts of a site, over a real sshd; its package manager is a stand-in."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path

import pytest

import sshd
from steelyard.controller.installation import bring_bundled, install_on_hosts
from steelyard.errors import SteelyardError, UsageError
from steelyard.hosts.token import Token
from steelyard.model.tool import Tool
from steelyard.sites.ssh import Ssh, SshOptions
from steelyard.spec.sites import NamedSite, resolve

APT = """#!/bin/sh
case "$*" in *broken*) echo 'no such package' >&2; exit 100;; esac
echo "$@" > {noted}
"""


@pytest.fixture
def far(tmp_path):
    """Where the far host keeps its cache, and the site."""
    sshd.need_sshd()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apt-get").write_text(APT.replace("{noted}", str(tmp_path / "noted")))
    (programs / "apt-get").chmod(0o755)
    (programs / "sudo").write_text('#!/bin/sh\nshift; exec "$@"\n')  # -n: it asks for no password
    (programs / "sudo").chmod(0o755)
    there = f"SetEnv XDG_CACHE_HOME={tmp_path}/cache PATH={programs}:/usr/bin:/bin:/usr/sbin"
    with sshd.Sshd(tmp_path / "sshd", there) as server:
        login = {"host": server.host, "user": sshd.ME, "port": server.port, "name": "far"}
        options = {"key": str(server.key), "known_hosts": str(server.known), "config": "none"}
        yield NamedSite("far", Ssh(SshOptions.model_validate({"hosts": [login], **options})))


def install(site, *tools, dry_run=False):
    said: list[str] = []
    asyncio.run(install_on_hosts(site, tools, said.append, dry_run=dry_run))
    return said


@pytest.fixture
def tool(tmp_path):
    """One from PyPI whose lock names nothing, so that nothing is fetched."""
    lock = tmp_path / "tiny.lock"
    lock.write_text("# nothing\n")
    return Tool("tiny", pip=str(lock))


def test_a_tool_is_put_into_the_cache_of_the_far_host(far, tool, tmp_path):
    said = install(far, tool, dry_run=True)
    assert all(line.startswith("far: ") for line in said)
    assert not (tmp_path / "cache").exists()
    assert len(install(far, tool)) == len(said) == 4
    assert (tmp_path / "cache" / "steelyard" / "tools" / "tiny" / "bin" / "python").exists()
    assert install(far, tool) == ["far: everything is already installed"]
    Path(tool.pip).write_text("# nothing, either\n")
    assert len(install(far, tool)) == len(said), "it was made from another lock"


def test_packages_come_from_its_package_manager(far, tmp_path):
    install(far, Tool("no-such-a", apt="b"), Tool("no-such-b", apt="a"), Tool("sh", apt="dash"))
    assert (tmp_path / "noted").read_text() == "install -y a b\n"


def test_what_fails_is_told_with_the_host_and_its_words(far):
    with pytest.raises(SteelyardError, match=r"host far: .*ended with code 100: no such package"):
        install(far, Tool("no-such-a", apt="zzz"), Tool("no-such-b", apt="broken"))
    with pytest.raises(SteelyardError, match="host far has no package manager that provides no-such-c"):
        install(far, Tool("no-such-c", dnf="c"))


def test_hosts_that_come_and_go_are_refused():
    with pytest.raises(UsageError, match="cannot install on site slurm: its hosts exist only during a run"):
        install(resolve("slurm"), Tool("sh"))


def test_a_run_brings_programs_of_ours(far, tmp_path):
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / f"ours-{platform.machine()}").write_text("#!/bin/sh\necho brought\n")
    ours = Tool("ours", bundled=str(tmp_path / "built"))

    async def bring(*tools: Tool) -> str | None:
        async with far.site.lease(Token.of("test"), tmp_path / "log", None) as hosts:
            await bring_bundled(hosts, (Tool("no-such-d", apt="d"), *tools))
            return await hosts[0].capture(ours.argv())

    assert asyncio.run(bring()) is None
    assert asyncio.run(bring(ours)) == "brought\n"
    with pytest.raises(SteelyardError, match="none is a program of Steelyard's own that was not built"):
        asyncio.run(bring(Tool("none", bundled=str(tmp_path))))
