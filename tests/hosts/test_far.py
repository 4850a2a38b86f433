"""Bad days of a far host: the channel breaks, the controller falls silent, the host talks nonsense."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patience import PATIENCE
from steelyard.errors import HostError, HostLost
from steelyard.evidence.clocks import judge_clocks
from steelyard.hosts.agent import wire
from steelyard.hosts.agent.agent import Agent, AgentTimeouts
from steelyard.hosts.agent.child import AgentChild
from steelyard.hosts.agent.probe import find_probe
from steelyard.hosts.base import Streams
from steelyard.hosts.clocks import read_own_clocks
from steelyard.hosts.connect import connect_all
from steelyard.hosts.minder import CHILD_VARIABLE
from steelyard.hosts.minder.processes import find_variable, read_environment, read_proc
from steelyard.hosts.shell import ShellHost
from steelyard.model.command import Command
from steelyard.transports import piped as piped_transport
from steelyard.transports.piped import PipedTransport

PACE = AgentTimeouts(beat_interval=0.3, silence_timeout=PATIENCE, hello_timeout=PATIENCE)
IMPATIENT = AgentTimeouts(beat_interval=0.3, silence_timeout=3.0, hello_timeout=PATIENCE)  # told to the agent
TREE = 'trap "" TERM; setsid sleep 300 & (setsid sh -c "sleep 300; sleep 300") & sleep 300; sleep 300'
SHELLS = ["sh", "bash --posix", "busybox ash"]


@pytest.fixture(params=["sh", "probe"])
def agent(request, monkeypatch):
    system = os.uname()
    if request.param == "sh":
        monkeypatch.setenv("STEELYARD_PROBE", "none")
    elif find_probe(system.sysname, system.machine) is None:
        pytest.skip("steelyard-probe was not built for this machine: make probe")
    return request.param


class Far:
    """A far host of this machine, whose way can be broken."""

    def __init__(self, run, name="n1", **options):
        self.run, self.transport = run, PipedTransport(name, "127.0.0.1")
        self.host = ShellHost(self.transport, run.token, run.folder / "log", **{"pace": PACE} | options)

    async def __aenter__(self):
        await self.host.connect()
        self.host._agent._pace = PACE  # a busy machine's three seconds of silence are no lost host
        self.scratch = PurePosixPath(self.run.folder / f"scratch-{self.host.name}")
        await self.host.make_scratch(self.scratch)
        return self

    async def __aexit__(self, *_):
        await self.host.leave()

    async def start(self, *argv):
        streams = Streams(self.run.folder / f"out-{self.host.name}", self.run.folder / "err")
        return await self.host.start(Command(argv), streams, cwd=self.scratch)

    async def start_tree(self):
        process = await self.start("sh", "-c", TREE)
        assert await asyncio.to_thread(self.run.until, lambda: len(self.children()) >= 5)
        return process

    def children(self):
        """What was started as a program: not the sleep of an agent's watchdog."""
        marks = {
            bearer: find_variable(read_environment(bearer.pid), CHILD_VARIABLE)
            for bearer in self.run.bearers()
        }
        return [bearer for bearer, mark in marks.items() if mark and not mark.startswith("agent-")]

    @property
    def channel(self):
        return self.host._agent._channel


def gone(run, *scratch):
    return run.until(lambda: not run.bearers() and not any(Path(path).exists() for path in scratch))


def temporary():
    return [path.name for path in Path(os.environ["TMPDIR"]).iterdir() if "steelyard" in path.name]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_an_agent_that_is_killed_is_a_lost_host(run, agent, how):
    async def story():
        async with Far(run, pace=IMPATIENT) as far:
            process = await far.start_tree()
            os.kill(far.host._agent_pid, how)
            with pytest.raises(HostLost, match="n1"):
                await process.wait()
            with pytest.raises(HostLost, match="n1"):
                await far.host.read(["/proc/stat"])
        return far

    far = asyncio.run(story())
    if agent == "probe" and how == signal.SIGKILL:
        return  # nobody is left there to end its children; the controller's own sweep would
    assert gone(run, far.scratch)
    assert run.until(lambda: temporary() == [])


def test_the_end_of_the_way_ends_all(run, agent):
    async def story():
        async with Far(run) as far:
            process = await far.start_tree()
            far.channel.close()
            with pytest.raises(HostLost):
                await process.wait()
            with pytest.raises(HostLost):
                await far.start("true")
        return far

    far = asyncio.run(story())
    assert gone(run, far.scratch)
    assert run.until(lambda: temporary() == [])


def test_the_clocks_of_a_far_host_are_those_of_its_machine(run, agent):
    async def story():
        async with Far(run) as far:
            return read_own_clocks(), await far.host.read_clocks(), await far.host.read_clocks()

    own, *told = asyncio.run(story())
    for clocks in told:
        assert clocks.wall - clocks.boot == pytest.approx(
            own.wall - own.boot, abs=own.uncertainty + clocks.uncertainty
        )
    assert judge_clocks(*told) == ()


def test_silence_ends_all(run, agent):
    async def story():
        async with Far(run, pace=IMPATIENT) as far:
            await far.start_tree()
            for task in far.host._agent._tasks:
                task.cancel()
            assert await asyncio.to_thread(gone, run, far.scratch)
            assert await asyncio.to_thread(run.until, lambda: temporary() == [])

    asyncio.run(story())


def test_an_agent_that_does_not_answer_is_a_lost_host(run, agent):
    async def story():
        async with Far(run) as far:
            process = await far.start("sleep", "300")
            far.host._agent._pace = IMPATIENT  # only now: a busy machine may be silent for that long
            os.kill(far.host._agent_pid, signal.SIGSTOP)
            try:
                with pytest.raises(HostLost, match="n1"):
                    await process.wait()
            finally:
                os.kill(far.host._agent_pid, signal.SIGCONT)

    asyncio.run(story())
    assert gone(run)


def test_a_lost_host_is_reached_again(run, agent):
    async def story():
        async with Far(run) as far:
            process = await far.start_tree()
            (Path(far.scratch) / "file").write_text("x")
            far.channel.close()
            with pytest.raises(HostLost):
                await process.wait()
            await far.host.check()
            assert far.children() == []
            assert [path.name for path in Path(far.scratch).iterdir()] == [".steelyard-scratch"]
            assert (await (await far.start("true")).wait()).code == 0
        return far

    far = asyncio.run(story())
    assert gone(run, far.scratch)


def test_a_host_whose_scratch_could_not_be_marked_again_stays_lost_until_it_can(run, agent):
    async def story():
        async with Far(run) as far:
            far.channel.close()
            assert await asyncio.to_thread(run.until, lambda: not Path(far.scratch).exists())
            Path(far.scratch).write_text("in the way")
            for _ in range(2):
                with pytest.raises(HostLost, match=str(far.scratch)):
                    await far.host.check()
                with pytest.raises(HostLost, match=str(far.scratch)):
                    await far.start("true")
            Path(far.scratch).unlink()
            await far.host.check()
            assert [path.name for path in Path(far.scratch).iterdir()] == [".steelyard-scratch"]
        return far

    far = asyncio.run(story())
    assert gone(run, far.scratch)


def test_who_ended_before_it_could_wait_has_begun_and_ended():
    async def story():
        child = AgentChild(None, "n1:7")
        child.handle_event(wire.parse_event(b"exited n1:7 - 9 0.1 0 0 - - - 0\n"))
        assert await child.begun == 0, "who started it does not wait for ever"
        assert (await child.wait()).signal == 9

    asyncio.run(story())


def test_evidence_of_a_lost_host(run, agent):
    async def story():
        async with Far(run) as far:
            process = await far.start("sh", "-c", "echo evidence; exec sleep 300")
            out = run.folder / "out-n1"
            assert await asyncio.to_thread(run.until, lambda: out.read_text() == "evidence\n")
            far.channel.close()
            with pytest.raises(HostLost):
                await process.wait()

    asyncio.run(story())
    assert gone(run)


def test_the_hosts_of_one_machine_do_not_end_each_other(run, agent):
    async def story():
        async with Far(run) as one, Far(run, "n1.2") as other:
            await one.start_tree()
            process = await other.start("sh", "-c", "echo mine; exec sleep 300")
            one.channel.close()
            await asyncio.to_thread(run.until, lambda: not Path(one.scratch).exists())
            await asyncio.sleep(0.3)
            names = [read_proc(f"/proc/{bearer.pid}/comm") for bearer in run.bearers()]
            assert Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", names
            await other.host.check()
            await process.kill(grace=5)

    asyncio.run(story())


@pytest.mark.parametrize("shell", SHELLS)
def test_bystanders_are_left_alone(run, shell, monkeypatch):
    """Also those in session 0, where a container has what came into it from outside."""
    monkeypatch.setenv("STEELYARD_PROBE", "none")
    program = Path(__file__).with_name("bystanders.py")
    argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable]
    if os.geteuid() != 0:
        pytest.skip("a pid namespace of our own needs root")
    if not shutil.which(shell.split(maxsplit=1)[0]):
        pytest.skip(f"{shell.split(maxsplit=1)[0]} is not installed")
    ran = subprocess.run([*argv, str(program), shell], capture_output=True, text=True, check=False)
    assert ran.stdout == "alive\n", ran.stderr


def test_many_hosts_are_reached_together(run, agent):
    async def story():
        hosts = [Far(run, f"n{number}").host for number in range(4)]
        async with connect_all(hosts):
            assert len({host.name for host in hosts}) == 4
            await asyncio.gather(*(host.check() for host in hosts))

    asyncio.run(story())
    assert gone(run)


def test_each_host_that_cannot_be_reached_is_named(run):
    async def story():
        good = Far(run, "good").host
        bad = [
            ShellHost(PipedTransport(name, "", ("no-such-launcher",)), run.token, run.folder / "log")
            for name in "ab"
        ]
        with pytest.raises(HostError, match=r"(?s)host a: .*no-such-launcher.*host b: "):
            async with connect_all([bad[0], good, bad[1]]):
                pytest.fail("two cannot be reached")

    asyncio.run(story())
    assert gone(run)


# A host that may say anything


class Fake(PipedTransport):
    """A host whose shell is a script of ours."""

    def __init__(self, script):
        super().__init__("fake", "127.0.0.1")
        self._script = script

    async def run(self, script):
        return await super().run(self._script)


GREETING = "echo steelyard-agent 1 sh Linux x86_64; "
NONSENSE = {
    "nothing": "exit 0",
    "no greeting": "yes hello",
    "silence": "exec sleep 300",
    "a broken greeting": "echo steelyard-agent 2 what; exec cat",
    "a reply without a request": GREETING + "echo 0 0; exec cat >/dev/null",
    "a broken reply": GREETING + "read -r line; echo nonsense; exec cat >/dev/null",
    "an endless reply": GREETING + "read -r line; echo 0 999999999; exec yes",
    "a reply cut short": GREETING + "read -r line; echo 0 100; echo x",
    "a broken event": GREETING + "read -r line; echo started x y >&2; exec cat >/dev/null",
    "an endless event": GREETING + "tr '\\0' x </dev/zero >&2",
}


@pytest.mark.parametrize("script", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_a_lost_host(run, script, monkeypatch):
    monkeypatch.setattr(piped_transport, "GONE_WITHIN", 0.5)

    async def story():
        transport = Fake(script)
        host = ShellHost(transport, run.token, run.folder / "log", pace=AgentTimeouts(0.3, 1.0, 1.0))
        try:
            with pytest.raises(HostError, match="fake"):
                await host.connect()
        finally:
            await host.leave()

    asyncio.run(story())


def test_what_a_login_shell_says_goes_to_the_log(run):
    async def story():
        said = []
        async with Agent.open(
            Fake("echo Welcome!; " + GREETING + "exec cat >/dev/null"), run.token, PACE, said.append
        ):
            return said

    assert asyncio.run(story()) == ["Welcome!"]


class Scripted:
    """A channel that says what it was given, and takes everything."""

    def __init__(self, stdout, stderr):
        self.stdout, self.stderr = asyncio.StreamReader(limit=1 << 16), asyncio.StreamReader(limit=1 << 16)
        for reader, data in ((self.stdout, stdout), (self.stderr, stderr)):
            reader.feed_data(data)
            reader.feed_eof()

    async def send(self, data):
        pass

    async def end_input(self):
        pass

    async def wait(self):
        return 0

    def close(self):
        pass


lines = st.sampled_from(
    [
        b"0 0\n",
        b"0 3\nabc",
        b"1 2\nno",
        b"done n1:1 0\n",
        b"steelyard-agent 1 probe Linux x\n",
        b"exited n1:1 -\n",
        b"\xff\n",
    ]
)


@given(
    st.lists(lines | st.binary(max_size=30), max_size=8), st.lists(lines | st.binary(max_size=30), max_size=8)
)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_gives_only_host_errors(run, said, events):
    async def story():
        channel = Scripted(b"steelyard-agent 1 sh Linux x86_64\n" + b"".join(said), b"".join(events))
        agent = Agent(channel, "n1", AgentTimeouts(60, 0.5, 0.5), lambda text: None)
        try:
            for step in (agent._begin, lambda: agent.ask("clock"), lambda: agent.run("n1:1", 0.1, "true")):
                with contextlib.suppress(HostError):
                    await step()
            with contextlib.suppress(HostError):
                child = await agent.start("n1:1", ["-"])
                await asyncio.wait_for(child.wait(), PATIENCE)
        finally:
            await agent._end()

    asyncio.run(story())


@given(st.binary(max_size=100))
def test_what_is_no_frame_is_refused(raw):
    with contextlib.suppress(wire.WireError):
        list(wire.parse_frames(raw))
