"""One contract for all kinds of hosts."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest

from loading import loaded
from patience import PATIENCE, comes, until
from peaks import require_peak_of
from steelyard.errors import HostError, TrialFailure
from steelyard.hosts.base import Host, Process, Streams, finish
from steelyard.hosts.minder.processes import find_variable, list_processes, read_environment
from steelyard.hosts.sweep import end_bearers, find_bearers
from steelyard.hosts.token import Token
from steelyard.model.command import Command, Exit

if TYPE_CHECKING:
    from hosts import Kind


hosts = loaded(Path(__file__).with_name("hosts.py"))
KINDS, Setting = hosts.KINDS, hosts.Setting

TREE = """
trap '' TERM
setsid sleep 300 &
(setsid sh -c 'trap "" TERM; sleep 300; sleep 300') &
echo up
sleep 300
sleep 300
"""


@dataclass
class Stage:
    """A host under test, with a scratch directory."""

    host: Host
    kind: Kind
    setting: Setting
    scratch: PurePosixPath

    @property
    def folder(self) -> Path:
        return self.setting.folder

    @property
    def streams(self) -> Streams:
        return Streams(self.folder / "stdout", self.folder / "stderr")

    async def start(self, *argv: str, at: int | None = None, **more: object) -> Process:
        return await self.host.start(Command(argv, **more), self.streams, cwd=self.scratch, at=at)

    async def run(self, *argv: str, **more: object) -> Exit:
        return await (await self.start(*argv, **more)).wait()

    def said(self) -> bytes:
        return (self.folder / "stdout").read_bytes()

    def children(self) -> dict[int, str]:
        """What bears the token because it was started as a program, by pid: its child id."""
        found = {}
        for bearer in find_bearers(lambda token: token.run == self.setting.token.run):
            name = find_variable(read_environment(bearer.pid), "STEELYARD_CHILD") or ""
            if not name.startswith("agent-"):
                found[bearer.pid] = name
        return found


Story = Callable[[Stage], Awaitable[None]]


@pytest.fixture(params=[kind.parameter() for kind in KINDS])
def kind(request: pytest.FixtureRequest) -> Kind:
    if reason := request.param.missing():
        pytest.skip(reason)
    return request.param


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    token = Token.of(f"test-{secrets.token_hex(6)}")
    yield Setting(token, tmp_path / "log", tmp_path)
    end_bearers(lambda found: found.run == token.run)


@asynccontextmanager
async def staged(kind: Kind, setting: Setting) -> AsyncIterator[Stage]:
    async with kind.open(setting) as host:
        scratch = PurePosixPath(setting.folder / "scratch")
        await host.make_scratch(scratch)
        yield Stage(host, kind, setting, scratch)


@pytest.fixture
def tell(kind: Kind, setting: Setting) -> Callable[[Story], None]:
    """Tell a story on a host; nothing may be left of it."""

    def run(story: Story) -> None:
        async def whole() -> None:
            async with staged(kind, setting) as stage:
                await story(stage)

        asyncio.run(whole())
        assert until(lambda: not find_bearers(lambda token: token == setting.token))
        # An agent that lost its controller clears up after the programs are gone; the scratch goes last.
        assert until(lambda: not (setting.folder / "scratch").exists())
        assert until(lambda: not leftover_directories(setting)), leftover_directories(setting)

    return run


def leftover_directories(setting: Setting) -> list[Path]:
    return [path for path in Path(os.environ["TMPDIR"]).iterdir() if path.name.startswith("steelyard-")]


# Programs


def test_facts(tell):
    async def story(stage):
        host = stage.host
        assert host.cores >= 1
        assert host.memory > 2**26
        assert host.machine == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert ip_address(host.address).is_private
        assert host.own_processes() <= set(list_processes())

    tell(story)


def test_a_program_gets_what_it_was_given(tell):
    async def story(stage):
        (stage.folder / "in").write_bytes(b"said\n")
        script = 'read line; echo "$line|$1|$2|$GIVEN|$(pwd)"; echo trouble >&2; exit 3'
        words = ('it\'s "a" $word `x` \\ *', "two\nlines\n")
        command = Command(("sh", "-c", script, "sh", *words), env={"GIVEN": "= '\n ü", "odd.name": "1"})
        streams = stage.streams._replace(stdin=stage.folder / "in")
        before = time.time()
        process = await stage.host.start(command, streams, cwd=stage.scratch)
        ended = await process.wait()
        assert (ended.code, ended.signal, ended.leftovers) == (3, None, 0)
        expected = f"said|{words[0]}|{words[1]}|= '\n ü|{stage.scratch}\n"
        assert stage.said().decode() == expected
        assert (stage.folder / "stderr").read_bytes() == b"trouble\n"
        assert before <= ended.started <= time.time()
        assert ended.wall >= 0

    tell(story)


def test_exit_codes_and_signals(tell):
    async def story(stage):
        assert (await stage.run("true")).code == 0
        assert (await stage.run("sh", "-c", "exit 200")).code == 200
        ended = await stage.run("sh", "-c", "kill -KILL $$")
        assert (ended.code, ended.signal) == (None, 9)

    tell(story)


def test_output_is_byte_exact(tell):
    async def story(stage):
        content = os.urandom(300_000) + b"\0\n\n\xff no newline at the end"
        (stage.folder / "in").write_bytes(content)
        streams = stage.streams._replace(stdin=stage.folder / "in")
        process = await stage.host.start(Command(("cat",)), streams, cwd=stage.scratch)
        assert (await process.wait()).code == 0
        assert stage.said() == content

    tell(story)


def test_equal_paths_share_one_file(tell):
    async def story(stage):
        both = Streams(stage.folder / "both", stage.folder / "both")
        script = "echo one; echo two >&2; echo three"
        process = await stage.host.start(Command(("sh", "-c", script)), both, cwd=stage.scratch)
        await process.wait()
        assert (stage.folder / "both").read_text() == "one\ntwo\nthree\n"

    tell(story)


def test_without_stdin_a_program_reads_nothing(tell):
    async def story(stage):
        assert (await stage.run("cat")).code == 0
        assert stage.said() == b""

    tell(story)


def test_the_time_a_program_used(tell):
    async def story(stage):
        ended = await stage.run("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
        assert 0.05 < ended.user <= ended.wall + 0.1

    tell(story)


def test_the_memory_of_a_small_program_is_its_own_or_a_bound(tell):
    async def story(stage):
        ended = await stage.run("true")
        if ended.peak_memory is not None and not ended.peak_is_bound:
            require_peak_of(["true"], ended.peak_memory)

    tell(story)


def test_output_comes_while_a_program_runs(tell):
    async def story(stage):
        process = await stage.start("sh", "-c", "echo early; exec sleep 300")
        assert await comes(lambda: stage.said() == b"early\n")
        await process.kill(grace=5)

    tell(story)


def test_a_missing_program_is_told(tell):
    async def story(stage):
        for name in ("no-such-program", "/no/such/program", "/etc/passwd"):
            with pytest.raises(TrialFailure) as caught:
                await stage.start(name)
            assert caught.value.category == "tool-missing"
            assert name in str(caught.value)

    tell(story)


def test_a_missing_directory_is_told(tell):
    async def story(stage):
        with pytest.raises(HostError, match="/no/such/place"):
            await stage.start("true", cwd=PurePosixPath("/no/such/place"))
        assert (await stage.run("true")).code == 0

    tell(story)


def test_the_path_of_the_command_counts(tell):
    async def story(stage):
        program = stage.folder / "own" / "a=b c"
        program.parent.mkdir()
        program.write_text('#!/bin/sh\necho "mine $1"\n')
        program.chmod(0o755)
        ended = await stage.run("a=b c", "x", env={"PATH": f"{program.parent}:{os.environ['PATH']}"})
        assert (ended.code, stage.said()) == (0, b"mine x\n")

    tell(story)


def test_sixteen_at_once(tell):
    async def story(stage):
        async def one(number: int) -> bytes:
            streams = Streams(stage.folder / f"out{number}", stage.folder / f"err{number}")
            command = Command(("sh", "-c", f"sleep 0.{number % 4}; echo {number}; exit {number}"))
            process = await stage.host.start(command, streams, cwd=stage.scratch)
            assert (await process.wait()).code == number
            return streams.stdout.read_bytes()

        said = await asyncio.gather(*map(one, range(16)))
        assert said == [f"{number}\n".encode() for number in range(16)]

    tell(story)


# How programs end


def test_kill_ends_a_whole_tree(tell):
    async def story(stage):
        process = await stage.start("sh", "-c", TREE)
        assert await comes(lambda: len(stage.children()) >= 5), stage.children()
        await process.kill(grace=0.2)
        ended = await process.wait()
        assert ended.signal in (9, 15)
        assert stage.children() == {}

    tell(story)


def test_leftovers_are_ended_and_counted(tell):
    async def story(stage):
        ended = await stage.run("sh", "-c", "setsid sleep 300 & sleep 300 & setsid sleep 300 & exit 4")
        assert (ended.code, ended.leftovers) == (4, 3)
        assert stage.children() == {}

    tell(story)


def test_a_time_out(tell):
    async def story(stage):
        process = await stage.start("sleep", "300")
        ended, late = await finish(process, 0.3)
        assert late
        assert ended.signal == 15

    tell(story)


def test_a_cancelled_wait_ends_the_program(tell):
    async def story(stage):
        process = await stage.start("sleep", "300")
        task = asyncio.create_task(finish(process, None))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stage.children() == {}

    tell(story)


def test_a_cancelled_start_leaves_nothing(tell):
    async def story(stage):
        for pause in (0, 0.001, 0.01):
            task = asyncio.create_task(stage.start("sleep", "300"))
            await asyncio.sleep(pause)
            task.cancel()
            outcome = (await asyncio.gather(task, return_exceptions=True))[0]
            if not isinstance(outcome, BaseException):
                await outcome.kill(grace=0)
        assert (await stage.run("true")).code == 0
        assert await comes(lambda: stage.children() == {})

    tell(story)


def test_what_still_runs_ends_with_the_host(tell):
    async def story(stage):
        await stage.start("sh", "-c", TREE)
        assert await comes(lambda: len(stage.children()) >= 5)

    tell(story)  # which looks for what is left


# Lock step


def test_a_start_at_an_instant(tell):
    async def story(stage):
        clock = await stage.host.read_clock_offset()
        at = time.time_ns() + round(clock.offset * 1e9) + 1_000_000_000
        process = await stage.start("date", "+%s%N", at=at)
        ended = await process.wait()
        assert ended.code == 0
        assert ended.released is not None
        assert ended.released * 1e9 >= at - 1000  # a float holds 0.2 µs
        assert ended.released <= ended.started + 1e-6
        assert at <= int(stage.said())

    tell(story)


def test_who_waits_for_an_instant_can_be_ended(tell):
    async def story(stage):
        process = await stage.start("true", at=time.time_ns() + 300 * 10**9)
        await process.kill(grace=0.5)
        assert (await process.wait()).released is None
        assert stage.children() == {}

    tell(story)


def test_a_missing_program_is_told_before_the_instant(tell):
    async def story(stage):
        with pytest.raises(TrialFailure, match="no-such-program"):
            await stage.start("no-such-program", at=time.time_ns() + 10**9)

    tell(story)


def test_the_clock_is_ours(tell):
    async def story(stage):
        clock = await stage.host.read_clock_offset()
        assert clock.uncertainty >= 0
        assert abs(clock.offset) <= clock.uncertainty + 0.001

    tell(story)


# Files


def test_read(tell):
    async def story(stage):
        for name, content in {"a.1": "one\n\n", "b.1": "", "a.2": "no newline", "c 1.1": "ü"}.items():
            (stage.folder / name).write_text(content)
        (stage.folder / "d.1").mkdir()
        os.mkfifo(stage.folder / "f.1") if stage.kind.far else None
        here = str(stage.folder)
        found = await stage.host.read([f"{here}/*.1", f"{here}/a.2", f"{here}/none", "/proc/stat"])
        assert found.pop("/proc/stat").startswith("cpu ")
        assert found == {
            f"{here}/a.1": "one\n\n",
            f"{here}/b.1": "",
            f"{here}/c 1.1": "ü",
            f"{here}/a.2": "no newline",
        }
        table = await stage.host.read(["/proc/*/stat"])
        assert f"/proc/{os.getpid()}/stat" in table
        assert all(content.endswith("\n") for content in table.values())
        assert await stage.host.read([]) == {}

    tell(story)


def test_the_network_that_is_read_is_that_of_its_programs(tell):
    """Another test may add an interface between two looks; those of another network are never the same."""

    def interfaces(text):
        return {line.split(":")[0].strip() for line in text.splitlines() if ":" in line}

    async def story(stage):
        there = found = set()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not there or found != there:
                    found = interfaces((await stage.host.read(["/proc/net/dev"]))["/proc/net/dev"])
                    there = interfaces(await stage.host.capture(("cat", "/proc/net/dev")))
        assert there
        assert found == there

    tell(story)


def odd_tree(folder: Path) -> None:
    for name in ("a b", "new\nline", "üñ", "-x", ".hidden", "quote'\"$`\\", "tab\t*?[a]"):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.txt").write_text(name)
    (folder / "empty").mkdir()
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "tool").chmod(0o755)
    (folder / "link").symlink_to("a b")
    (folder / "big").write_bytes(os.urandom(3_000_000))


def content(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def test_put_and_get_a_tree(tell):
    async def story(stage):
        odd_tree(stage.folder / "here")
        await stage.host.put(stage.folder / "here", stage.scratch / "-there it's")
        await stage.host.get(stage.scratch / "-there it's", stage.folder / "back")
        assert content(stage.folder / "back") == content(stage.folder / "here")

    tell(story)


def test_put_and_get_a_file(tell):
    async def story(stage):
        data = os.urandom(2_500_000)
        (stage.folder / "here").write_bytes(data)
        for name in ("plain", "-odd\nname 'x'"):
            await stage.host.put(stage.folder / "here", stage.scratch / name)
            await stage.host.get(stage.scratch / name, stage.folder / "back")
            assert (stage.folder / "back").read_bytes() == data

    tell(story)


def test_what_cannot_be_copied_is_told(tell):
    async def story(stage):
        with pytest.raises(HostError, match="nothing-here"):
            await stage.host.get(stage.scratch / "nothing-here", stage.folder / "back")
        with pytest.raises(HostError, match="not-there"):
            await stage.host.put(stage.folder / "not-there", stage.scratch / "x")
        (stage.folder / "here").write_text("x")
        with pytest.raises(HostError):
            await stage.host.put(stage.folder / "here", stage.scratch / "no" / "such" / "folder")

    tell(story)


def test_directories(tell):
    async def story(stage):
        path = stage.scratch / "it's one\nof two"
        await stage.host.make_directory(path)
        await stage.host.make_directory(path)
        assert Path(path).stat().st_mode & 0o777 == 0o700
        (Path(path) / "link").symlink_to("/etc")
        await stage.host.remove_directory(path)
        await stage.host.remove_directory(path)
        assert not Path(path).exists()
        assert Path("/etc/passwd").exists()
        with pytest.raises(HostError, match="missing"):
            await stage.host.make_directory(stage.scratch / "missing" / "parent")

    tell(story)


def test_scratch(tell):
    async def story(stage):
        path = stage.scratch.parent / "new parent" / "it's"
        await stage.host.make_scratch(path)
        assert (Path(path) / ".steelyard-scratch").read_text() == str(stage.host.mark)
        assert Path(path).stat().st_mode & 0o777 == 0o700
        (Path(path) / "deep").mkdir()
        (Path(path) / "deep" / "file").write_text("x")
        (Path(path) / "link").symlink_to(stage.folder / "kept")
        (stage.folder / "kept").mkdir()
        await stage.host.remove_scratch(path)
        assert not Path(path).parent.exists()
        assert (stage.folder / "kept").is_dir()
        await stage.host.remove_scratch(path)

    tell(story)


def test_a_directory_of_others_is_never_removed(tell, setting):
    foreign = setting.folder / "foreign"
    foreign.mkdir()
    (foreign / "file").write_text("x")
    (foreign / ".steelyard-scratch").write_text("another-run")

    async def story(stage):
        with pytest.raises(HostError, match="foreign"):
            await stage.host.make_scratch(PurePosixPath(foreign))
        with suppress(HostError):
            await stage.host.remove_scratch(PurePosixPath(foreign))

    tell(story)
    assert (foreign / "file").exists()


def test_a_setting_is_put_back_when_the_host_is_left(tell, setting):
    names = ("it's set", "twice", "taken back")
    files = [setting.folder / name for name in names]

    async def story(stage):
        for file in files:
            file.write_text("before")
            await stage.host.restore_at_end(str(file), "other ")
            await stage.host.restore_at_end(str(file), "before")
            file.write_text("during")
        await stage.host.restore_at_end(str(files[2]), "")
        assert [file.read_text() for file in files] == ["during"] * 3

    tell(story)
    assert until(lambda: [file.read_text() for file in files] == ["before", "before", "during"])


def test_scratch_that_cannot_be_made(tell):
    async def story(stage):
        with pytest.raises(HostError, match="/proc/no"):
            await stage.host.make_scratch(PurePosixPath("/proc/no"))

    tell(story)


def test_small_questions(tell):
    async def story(stage):
        host = stage.host
        assert await host.which("sh") in ("/bin/sh", "/usr/bin/sh")
        assert await host.which("no-such-program") is None
        assert await host.capture(("echo", "it's", "a b")) == "it's a b\n"
        assert await host.capture(("false",)) is None
        assert await host.capture(("no-such-program",)) is None
        assert await host.capture(("sleep", "300"), seconds=0.2) is None
        free = await host.read_free_space(stage.scratch / "not" / "there")
        found = os.statvfs(stage.folder)
        assert free <= found.f_blocks * found.f_frsize
        assert free > 0

    tell(story)


def test_capture_is_bounded(tell):
    async def story(stage):
        said = await stage.host.capture(("head", "-c", "5000000", "/dev/zero"))
        assert said is None or len(said) <= 16 << 20
        endless = await stage.host.capture(("yes",), seconds=0.5)
        assert endless is None

    tell(story)


def test_check(tell):
    async def story(stage):
        await stage.host.check()
        assert (await stage.run("true")).code == 0

    tell(story)
