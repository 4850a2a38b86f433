"""An account of this machine that means us ill, against both agents: it stops, reads and alters nothing."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from accounts import Account
from agents import PROBE, SHELLS, Agent, gone
from patience import PATIENCE, until
from steelyard.errors import HostError
from steelyard.hosts import copying
from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.agent.probe import VARIABLE
from steelyard.hosts.base import Streams
from steelyard.hosts.minder.processes import read_proc
from steelyard.hosts.shell import ShellHost
from steelyard.model.command import Command
from steelyard.transports.piped import PipedTransport

MARKER = ".steelyard-scratch"
LONGEST_NAME = 15  # bytes; PR_SET_NAME(2const)
RENAME = "import sys, time; open('/proc/self/comm', 'wb').write(sys.argv[1].encode()); time.sleep(300)"
PACE = AgentTimeouts(beat_interval=0.5, silence_timeout=PATIENCE, hello_timeout=PATIENCE)

Opens = Callable[..., Agent]


@pytest.fixture(params=[*SHELLS, "probe"])
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "probe" and not PROBE.exists():
        pytest.skip("steelyard-probe is not built: make probe")
    if not shutil.which(request.param.split()[0]) and request.param != "probe":
        pytest.skip(f"{request.param.split()[0]} is not installed")
    return str(request.param)


@pytest.fixture
def opened(kind: str) -> Iterator[Opens]:
    """Starts an agent, of root or of an account, with more variables."""
    with contextlib.ExitStack() as stack:

        def open_(account: Account | None = None, **env: str) -> Agent:
            path = str(PROBE)
            popen: Any = partial(subprocess.Popen, env={**os.environ, **env})
            if account:
                path = f"{account.home}/.code/sources/steelyard/hosts/agent/bin/{PROBE.name}"
                popen = lambda words, **more: account.start(*words, text=False, env=env, **more)  # noqa: E731
            agent = Agent(path if kind == "probe" else kind, popen=popen)
            stack.callback(agent.clean)
            assert agent.replies.line().startswith("steelyard-agent 1 ")
            return agent

        yield open_


# Processes --------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(mallory: Account) -> Iterator[Callable[..., int]]:
    """Starts a program of mallory's."""
    with contextlib.ExitStack() as stack:

        def start(*argv: str, **env: str) -> int:
            process = mallory.start(*argv, env=env)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process.pid

        yield start


def test_a_forged_name_ends_nobody(opened: Opens, mallory: Account, stranger: Callable[..., int]) -> None:
    agent = opened()
    bystander = stranger("sleep", "300")
    assert until(lambda: read_proc(f"/proc/{bystander}/comm") == b"sleep\n")
    program = agent.started("p", "sleep", "300")
    name = f"\n{bystander} {program}\n"  # read by lines, a child of our program
    if len(name) > LONGEST_NAME:
        pytest.skip(f"pids are too long here for a forged name: {name!r}")
    forger = stranger(*mallory.python, "-c", RENAME, name)
    assert until(lambda: read_proc(f"/proc/{forger}/comm") == f"{name}\n".encode())
    agent.ask("kill", "p", "0")
    assert agent.event()[:2] == ["exited", "p"]
    assert [gone(pid) for pid in (program, bystander, forger)] == [True, False, False]


def test_a_stranger_with_our_token_is_none_of_ours(opened: Opens, stranger: Callable[..., int]) -> None:
    """The token stands in the agent's arguments. As root, who can read everybody's environment."""
    agent = opened()
    marks = {"STEELYARD_TOKEN": str(agent.token), "STEELYARD_CHILD": "p"}
    forger = stranger("sleep", "300", **marks)
    assert until(lambda: read_proc(f"/proc/{forger}/comm") == b"sleep\n")
    agent.started("p", "true")
    assert agent.event()[:2] == ["exited", "p"]
    agent.end()
    assert not gone(forger)


# Secrets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("probe", [True, False], ids=["probe", "sh"])
def test_no_argument_holds_a_secret(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: bool
) -> None:
    """Everybody can read all arguments of all programs; strace shows each that was ever executed."""
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may trace nothing here")
    if not probe:
        monkeypatch.setenv(VARIABLE, "none")
    elif not PROBE.exists():
        pytest.skip("steelyard-probe is not built: make probe")
    (tmp_path / "trace").mkdir()
    (tmp_path / "in").write_text("hush-stdin")
    trace = f"strace -ff -qq -s 999999 -e trace=execve -o {tmp_path}/trace/of"
    transport = PipedTransport("n1", "127.0.0.1", shell=f"{trace} sh")

    async def story() -> ShellHost:
        async with ShellHost.open(transport, run.token, run.folder / "log", pace=PACE) as host:
            scratch = PurePosixPath(tmp_path / "scratch")
            await host.make_scratch(scratch)
            streams = Streams(tmp_path / "out", tmp_path / "err", tmp_path / "in")
            script = 'test "$PASSWORD" && test "$GIVEN" && cat'
            hush = {"PASSWORD": "it's\nhush-password"}
            command = Command(("sh", "-c", script), {"GIVEN": "hush-given"}, secrets=hush)
            for at in (None, 1):
                process = await host.start(command, streams, cwd=scratch, at=at)
                assert (await process.wait()).code == 0
                assert (tmp_path / "out").read_text() == "hush-stdin"
            await host.remove_scratch(scratch)
            return host

    host = asyncio.run(story())
    seen = "".join(path.read_text(errors="replace") for path in (tmp_path / "trace").iterdir())
    assert str(run.token) in seen
    for secret in ("hush-given", "hush-password", "hush-stdin", str(host.mark).partition(":")[2]):
        assert secret not in seen


def test_a_secret_that_cannot_be_hidden_is_refused(run: Any) -> None:
    async def story() -> None:
        host = ShellHost(PipedTransport("n1", "127.0.0.1"), run.token, run.folder / "log")
        command = Command(("true",), secrets={"my.password": "x"})
        with pytest.raises(HostError, match=r"my\.password"):
            await host.start(command, Streams(run.folder / "o", run.folder / "e"), cwd=PurePosixPath("/"))

    asyncio.run(story())


# Directories ------------------------------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory as /tmp: all write there, and only owners remove. Pytest closes its own to others."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="steelyard-test-") as path:
        Path(path).chmod(0o1777)
        yield Path(path)


def refused(agent: Agent, path: Path, reason: str) -> None:
    code, said = agent.ask("scratch", str(path), agent.mark)
    assert (code, reason in said.decode()) == (1, True), said
    agent.script("true")  # it goes on


def test_what_a_stranger_made_before_us_is_refused(
    opened: Opens, alice: Account, mallory: Account, shared: Path
) -> None:
    agent = opened(alice)
    mallory.owns(shared / "theirs", mode=0o777)
    mallory.owns(shared / "theirs" / MARKER, agent.mark)
    mallory.owns(shared / "parent", mode=0o755)
    alice.owns(shared / "ours", mode=0o777)
    (shared / "link").symlink_to(shared / "ours")
    os.chown(shared / "link", mallory.uid, mallory.gid, follow_symlinks=False)
    refused(agent, shared / "theirs", "exists already")
    refused(agent, shared / "parent" / "scratch", f"{shared}/parent belongs to another account")
    refused(agent, shared / "link", "exists already")
    refused(agent, shared / "link" / "scratch", f"{shared}/link belongs to another account")
    refused(agent, shared / "ours" / "scratch", f"other accounts may write {shared}/ours")
    refused(agent, shared / "ours" / "new" / "scratch", f"other accounts may write {shared}/ours")
    assert [each.name for each in (shared / "ours").iterdir()] == []
    assert agent.ask("scratch", str(shared / "new" / "scratch"), agent.mark) == (0, b"")
    assert (shared / "new").stat().st_mode & 0o022 == 0


def test_a_group_with_a_stranger_in_it(
    opened: Opens, kind: str, alice: Account, mallory: Account, shared: Path
) -> None:
    agent = opened(alice)
    alice.owns(shared / "group", mode=0o770)
    if not kind.startswith("busybox"):  # whose `ls` may be busybox's, which shows no access lists
        assert agent.ask("scratch", str(shared / "group" / "a"), agent.mark) == (0, b"")
    group = grp.getgrgid(alice.gid).gr_name
    subprocess.run(["gpasswd", "-a", mallory.name, group], check=True, capture_output=True)
    try:
        refused(agent, shared / "group" / "b", f"other accounts may write {shared}/group")
    finally:
        subprocess.run(["gpasswd", "-d", mallory.name, group], check=True, capture_output=True)


def test_a_directory_that_is_trusted(opened: Opens, alice: Account, mallory: Account, shared: Path) -> None:
    config = alice.owns(alice.owns(shared / "config", mode=0o700) / "steelyard", mode=0o700)
    agent = opened(alice, XDG_CONFIG_HOME=str(shared / "config"))
    mallory.owns(shared / "team", mode=0o777)
    mallory.owns(shared / "team-not", mode=0o777)
    alice.owns(config / "trusted", f"{shared}/team\n", mode=0o666)
    refused(agent, shared / "team" / "scratch", f"{shared}/team belongs to another account")
    (config / "trusted").chmod(0o600)
    refused(agent, shared / "team-not" / "scratch", f"{shared}/team-not belongs to another account")
    assert agent.ask("scratch", str(shared / "team" / "scratch"), agent.mark) == (0, b"")
    assert agent.remove(shared / "team" / "scratch") == (0, "")
    os.chown(config / "trusted", mallory.uid, mallory.gid)
    refused(agent, shared / "team" / "scratch", f"{shared}/team belongs to another account")


def test_an_unsafe_place_for_temporary_files_is_not_used(
    opened: Opens, alice: Account, mallory: Account, shared: Path
) -> None:
    mallory.owns(shared / "temporary", mode=0o777)
    agent = opened(alice, TMPDIR=str(shared / "temporary"))
    code, desk = agent.ask("desk", agent.mark)
    assert (code, list((shared / "temporary").iterdir())) == (0, [])
    assert Path(os.fsdecode(desk)).parent in (Path("/tmp"), Path("/var/tmp"))


@pytest.mark.parametrize("shell", SHELLS)
def test_nobody_can_take_the_names_that_an_agent_needs(shell: str, own_place: Path) -> None:
    """All that can be guessed: those with its pid."""
    if not shutil.which(shell.split(maxsplit=1)[0]):
        pytest.skip(f"{shell.split(maxsplit=1)[0]} is not installed")
    taken = (
        'n=0; while [ $n -lt 40 ]; do mkdir "$TMPDIR/steelyard-agent-$$.$n"; n=$((n + 1)); done; exec "$@"'
    )
    agent = Agent(
        shell, popen=lambda words, **more: subprocess.Popen(["sh", "-c", taken, "sh", *words], **more)
    )
    try:
        assert agent.replies.line().startswith("steelyard-agent 1 sh ")
        code, desk = agent.ask("desk", agent.mark)
        assert (code, Path(os.fsdecode(desk)).parent) == (0, own_place / "tmp"), "not driven to another place"
        assert agent.end() == 0
    finally:
        agent.clean()


def test_a_directory_of_the_former_agents_name_holds_nobody_up(
    run: Any, kind: str, mallory: Account, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(shared))
    if kind != "probe":
        monkeypatch.setenv(VARIABLE, "none")
    transport = PipedTransport("n1", "127.0.0.1", shell="sh" if kind == "probe" else kind)

    async def story() -> None:
        async with ShellHost.open(
            transport, run.token, run.folder / "log", pace=AgentTimeouts(0.3, 2.0, 15.0)
        ) as host:
            mallory.owns(shared / f"steelyard-agent-{host._agent_pid}.7")
            host._require_agent()._channel.close()
            with pytest.raises(HostError):
                await host.read(["/proc/stat"])
            await host.check()
            assert await host.which("sh")

    asyncio.run(story())


@pytest.mark.parametrize("name", ["target.part", "target"])
def test_a_copy_follows_no_link(name: str, tmp_path: Path) -> None:
    precious, source = tmp_path / "precious", tmp_path / "source"
    precious.write_text("precious")
    source.write_text("new")
    (tmp_path / name).symlink_to(precious)

    async def story() -> None:
        transport = PipedTransport("n1", "127.0.0.1")
        await copying.put(transport, source, PurePosixPath(tmp_path / "target"))
        await transport.close()

    asyncio.run(story())
    assert (precious.read_text(), (tmp_path / "target").read_text()) == ("precious", "new")
    assert not (tmp_path / "target").is_symlink()
