from __future__ import annotations

import asyncio
import errno
import os
import signal
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from patience import PATIENCE
from peaks import require_peak_of
from steelyard.errors import HostError
from steelyard.hosts.agent.child import AgentChild, StartError
from steelyard.hosts.lease import Lease
from steelyard.hosts.minder import CHILD_VARIABLE, TOKEN_VARIABLE
from steelyard.hosts.minder.processes import find_variable, read_environment, read_process
from steelyard.hosts.minder_channel import MinderError
from steelyard.model.command import Exit

if TYPE_CHECKING:
    from conftest import Run

Start = Callable[..., Awaitable[AgentChild]]


def within(run: Run, story: Callable[[Lease, Start], Awaitable[Any]]) -> Any:
    """Tell a story inside a lease; `start` fills in what most stories do not care about."""

    async def tell() -> Any:
        async with Lease.open(run.token, log=run.folder / "minder.log") as lease:

            async def start(*argv: str, **more: Any) -> AgentChild:
                usual = {"env": os.environ, "cwd": run.folder}
                output = {"stdout": run.folder / "out", "stderr": run.folder / "err"}
                return await lease.start(argv, **usual | output | more)

            return await story(lease, start)

    return asyncio.run(tell())


def run_one(run: Run, *argv: str, **more: Any) -> Exit:
    async def story(_: Lease, start: Start) -> Exit:
        return await (await start(*argv, **more)).wait()

    ended: Exit = within(run, story)
    return ended


# How a program is started


def test_a_program_runs_with_what_it_was_given(run: Run) -> None:
    (run.folder / "in").write_text("said\n")
    script = 'read line; echo "$line $1 $GIVEN $(pwd)"; echo trouble >&2; exit 3'
    ended = run_one(
        run,
        "sh",
        "-c",
        script,
        "sh",
        "word",
        env={"GIVEN": "env", "PATH": os.defpath},
        stdin=run.folder / "in",
    )
    assert (ended.code, ended.signal, ended.leftovers) == (3, None, 0)
    assert (run.folder / "out").read_text() == f"said word env {run.folder}\n"
    assert (run.folder / "err").read_text() == "trouble\n"


def test_without_stdin_a_program_reads_nothing(run: Run) -> None:
    assert run_one(run, "cat").code == 0
    assert (run.folder / "out").read_bytes() == b""


def test_equal_paths_share_one_output(run: Run) -> None:
    out = run.folder / "both"
    run_one(run, "sh", "-c", "echo one; echo two >&2; echo three", stdout=out, stderr=out)
    assert out.read_text() == "one\ntwo\nthree\n"


def test_arguments_and_environment_may_be_any_bytes(run: Run) -> None:
    odd = bytes(range(1, 256))
    text = os.fsdecode(odd)
    run_one(run, "sh", "-c", 'printf %s "$1$ODD"', "sh", text, env={"ODD": text, "PATH": os.defpath})
    assert (run.folder / "out").read_bytes() == odd + odd


def test_arguments_and_environment_may_be_huge(run: Run) -> None:
    many = ["x" * 100_000] * 8
    env = {f"HUGE_{number}": "y" * 100_000 for number in range(8)} | {"PATH": os.defpath}
    assert run_one(run, "sh", "-c", 'echo "$#$HUGE_7" | wc -c', "sh", *many, env=env).code == 0
    assert (run.folder / "out").read_text().strip() == "100002"


def test_a_program_is_looked_up_on_the_path_it_is_given(run: Run) -> None:
    for place, mode in (("first", 0o644), ("second", 0o755)):
        program = run.folder / place / "tool"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho {place}\n")
        program.chmod(mode)
    run_one(run, "tool", env={"PATH": f"{run.folder}/none:{run.folder}/first:second"})
    assert (run.folder / "out").read_text() == "second\n"


def test_a_program_has_default_signals(run: Run) -> None:
    run_one(run, "cat", "/proc/self/status")
    status = dict(line.split(":", 1) for line in (run.folder / "out").read_text().splitlines())
    internal = 0b11 << 31  # 32 and 33 belong to the C library, which ignores them in what it spawns
    assert [int(status[name], 16) & ~internal for name in ("SigBlk", "SigIgn")] == [0, 0]


def test_a_program_has_a_session_of_its_own_and_three_open_files(run: Run) -> None:
    async def story(_: Lease, start: Start) -> tuple[list[str], bool]:
        read, write = os.pipe()
        os.set_inheritable(write, True)
        child = await start("sh", "-c", "echo up; sleep 300; :")
        assert run.until(lambda: (run.folder / "out").read_text() == "up\n")
        os.close(read)
        os.close(write)
        found = read_process(child.pid)
        files = sorted(entry.name for entry in os.scandir(f"/proc/{child.pid}/fd"))
        return files, found is not None and found.session == child.pid

    assert within(run, story) == (["0", "1", "2"], True)


def test_every_program_bears_the_token_and_its_name(run: Run) -> None:
    async def story(_: Lease, start: Start) -> list[tuple[str | None, str | None]]:
        children = [await start("sleep", "300", env={}) for _ in range(2)]
        found = [read_environment(child.pid) for child in children]
        return [(find_variable(env, TOKEN_VARIABLE), find_variable(env, CHILD_VARIABLE)) for env in found]

    assert within(run, story) == [(str(run.token), "1"), (str(run.token), "2")]


def unwritable(folder: Path) -> Path:
    (folder / "directory").mkdir()
    return folder / "directory"


def script(folder: Path, first_line: str, mode: int) -> str:
    path = folder / "script"
    path.write_text(f"{first_line}\necho hello\n")
    path.chmod(mode)
    return str(path)


FAULTS: dict[str, tuple[Callable[[Path], tuple[list[str], dict[str, Any]]], str, int]] = {
    "missing program": (lambda _: (["no-such-program"], {}), "program", errno.ENOENT),
    "empty command": (lambda _: ([], {}), "program", errno.ENOENT),
    "missing path": (lambda folder: ([f"{folder}/none"], {}), "program", errno.ENOENT),
    "not executable": (lambda folder: ([script(folder, "#!/bin/sh", 0o644)], {}), "program", errno.EACCES),
    "interpreter missing": (lambda folder: ([script(folder, "#!/none", 0o755)], {}), "program", errno.ENOENT),
    "no format": (lambda folder: ([script(folder, "hello", 0o755)], {}), "program", errno.ENOEXEC),
    "NUL in an argument": (lambda _: (["true", "a\0b"], {}), "program", errno.EINVAL),
    "no such character": (lambda _: (["true", "\ud800"], {}), "program", errno.EILSEQ),
    "odd variable": (lambda _: (["true"], {"env": {"a=b": "c"}}), "program", errno.EINVAL),
    "too much": (lambda _: (["true", "x" * 200_000], {}), "program", errno.E2BIG),
    "missing cwd": (lambda folder: (["true"], {"cwd": folder / "none"}), "directory", errno.ENOENT),
    "missing stdin": (lambda folder: (["true"], {"stdin": folder / "none"}), "stdin", errno.ENOENT),
    "unwritable stdout": (lambda folder: (["true"], {"stdout": unwritable(folder)}), "stdout", errno.EISDIR),
    "unwritable stderr": (lambda folder: (["true"], {"stderr": folder / "no" / "e"}), "stderr", errno.ENOENT),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_started_is_said(run: Run, fault: str) -> None:
    prepare, what, number = FAULTS[fault]
    argv, more = prepare(run.folder)

    async def story(_: Lease, start: Start) -> tuple[StartError, Exit]:
        with pytest.raises(StartError) as caught:
            await start(*argv, **more)
        return caught.value, await (await start("true")).wait()

    error, afterwards = within(run, story)
    assert (error.what, error.errno) == (what, errno.errorcode[number])
    assert errno.errorcode[number] in str(error)
    assert afterwards.code == 0


def test_a_named_pipe_that_nobody_reads_does_not_stop_the_minder(run: Run) -> None:
    os.mkfifo(run.folder / "pipe")
    with pytest.raises(StartError, match="ENXIO"):
        run_one(run, "true", stdout=run.folder / "pipe")


# How it ended


def test_a_signal_is_told_from_a_code(run: Run) -> None:
    ended = run_one(run, "sh", "-c", "kill -9 $$")
    assert (ended.code, ended.signal) == (None, signal.SIGKILL)


def test_time_and_memory_are_the_childs(run: Run) -> None:
    busy = "import time; block = b'x' * 60_000_000\nwhile time.process_time() < 0.2: pass"
    large = run_one(run, sys.executable, "-I", "-S", "-c", busy)
    assert 0.15 <= large.user + large.system <= large.wall + 0.05
    assert large.peak_memory > 60_000_000


@pytest.mark.parametrize("argv", [("true",), ("dd", "if=/dev/zero", "of=/dev/null", "bs=2M", "count=1")])
def test_the_memory_of_what_starts_a_program_is_not_its_own(run: Run, argv: tuple[str, ...]) -> None:
    ended = run_one(run, *argv)
    assert not ended.peak_is_bound
    require_peak_of(argv, ended.peak_memory)


def test_memory_that_may_be_that_of_another_is_a_bound(run: Run) -> None:
    ended = run_one(run, "true", least_peak=100_000_000)
    assert ended.peak_is_bound
    assert ended.peak_memory < 100_000_000


def test_two_hundred_at_once(run: Run) -> None:
    async def story(_: Lease, start: Start) -> list[Exit]:
        children = await asyncio.gather(*(start("sh", "-c", f"exit {n % 100}") for n in range(200)))
        return await asyncio.gather(*(child.wait() for child in children))

    assert [ended.code for ended in within(run, story)] == [n % 100 for n in range(200)]


# What is left behind


def test_leftovers_end_with_their_child_and_no_others_do(run: Run) -> None:
    async def story(_: Lease, start: Start) -> tuple[Exit, list[int], list[int]]:
        living = await start("sh", "-c", "setsid sleep 300 & (setsid sleep 300 &); exec sleep 300")
        assert run.until(lambda: run.settled(sleeping=3))
        before = sorted(bearer.pid for bearer in run.bearers())
        untidy = await start("sh", "-c", "sleep 300 & setsid sleep 300 & (setsid sleep 300 &); exit 5")
        ended = await untidy.wait()
        after = sorted(bearer.pid for bearer in run.bearers())
        await living.kill()
        return ended, before, after

    ended, before, after = within(run, story)
    assert (ended.code, ended.leftovers) == (5, 3)
    assert after == before


def test_a_daemon_that_hides_its_environment_is_found_below_the_minder(
    run: Run, alive: Callable[[int], bool]
) -> None:
    pid_file = run.folder / "pid"
    hide = f"env -i setsid sh -c 'echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 300' &"
    wait = f"while ! test -e {pid_file}; do sleep 0.01; done"
    ended = run_one(run, "sh", "-c", f"{hide} {wait}")
    assert ended.leftovers == 1
    assert not alive(int(pid_file.read_text()))


def test_a_program_that_forks_faster_than_one_can_look_is_ended(run: Run) -> None:
    ended = run_one(run, sys.executable, "-I", str(Path(__file__).with_name("chain.py")))
    assert ended.code == 0
    assert run.all_gone(seconds=0)


# Ending a child


def test_sigterm_gives_all_of_a_tree_its_grace(run: Run) -> None:
    late = "trap 'sleep 0.2; echo late; exit 0' TERM; echo up; while :; do sleep 0.01; done"

    async def story(_: Lease, start: Start) -> Exit:
        child = await start("sh", "-c", f"sh -c '{late.replace(chr(39), chr(34))}' & wait")
        assert run.until(lambda: (run.folder / "out").read_text() == "up\n")
        await child.kill(grace=PATIENCE)
        return await child.wait()

    ended = within(run, story)
    assert (ended.signal, ended.leftovers) == (signal.SIGTERM, 0)
    assert (run.folder / "out").read_text() == "up\nlate\n"


@pytest.mark.parametrize("stubborn", ["trap '' TERM; sleep 300 & sleep 300 & sleep 300", "kill -STOP $$"])
def test_who_does_not_hear_is_killed_after_the_grace(run: Run, stubborn: str) -> None:
    async def story(_: Lease, start: Start) -> Exit:
        child = await start("sh", "-c", f"echo up; {stubborn}")
        assert run.until(lambda: (run.folder / "out").read_text() == "up\n")
        await child.kill(grace=0.1)
        return await child.wait()

    assert within(run, story).signal in (signal.SIGKILL, signal.SIGTERM)
    assert run.all_gone(seconds=0)


@pytest.mark.parametrize("options", [["60"], ["60", "setsid"]])
def test_a_fork_bomb_is_ended(run: Run, options: list[str]) -> None:
    async def story(_: Lease, start: Start) -> int:
        child = await start(sys.executable, "-I", str(Path(__file__).with_name("bomb.py")), *options)
        assert run.until(lambda: len(run.bearers()) > 10)
        await child.kill(grace=0)
        return len(run.bearers())

    assert within(run, story) == 0


def test_killing_the_dead_is_harmless(run: Run) -> None:
    async def story(_: Lease, start: Start) -> Exit:
        child = await start("true")
        first = await child.wait()
        await child.kill()
        return first

    assert within(run, story).code == 0


def test_a_start_that_nobody_waits_for_any_more_is_undone(run: Run) -> None:
    async def story(_: Lease, start: Start) -> None:
        starting = asyncio.ensure_future(start("sleep", "300"))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await (await start("true")).wait()
        assert run.until(lambda: not run.bearers())

    within(run, story)


# The end of the lease


def test_leaving_ends_what_still_runs(run: Run) -> None:
    async def story(_: Lease, start: Start) -> AgentChild:
        return await start("sh", "-c", "trap '' TERM; sleep 300 & setsid sleep 300 & sleep 300")

    left: AgentChild = within(run, story)
    assert run.all_gone(seconds=0)
    with pytest.raises(MinderError, match="closed"):
        asyncio.run(left.wait())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_minder_dies_everybody_hears_and_nothing_stays(run: Run, number: int) -> None:
    async def story(lease: Lease, start: Start) -> None:
        children = [await start("sh", "-c", "sleep 300 & (setsid sleep 300 &); sleep 300") for _ in range(3)]
        assert run.until(lambda: run.settled(sleeping=9, others=3))
        os.kill(lease.minder_pid, number)
        for child in children:
            with pytest.raises(MinderError, match="has died"):
                await child.wait()
        assert not run.bearers()
        with pytest.raises(MinderError):
            await start("true")

    within(run, story)


def test_a_minder_that_dies_while_the_lease_is_left_leaves_nothing(run: Run) -> None:
    async def story(lease: Lease, start: Start) -> None:
        await start("sleep", "300")
        os.kill(lease.minder_pid, signal.SIGKILL)

    within(run, story)
    assert not run.bearers()


def test_what_a_terminal_sends_does_not_move_the_minder(run: Run) -> None:
    async def story(lease: Lease, start: Start) -> Exit:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
            os.kill(lease.minder_pid, number)
        return await (await start("true")).wait()

    assert within(run, story).code == 0


def test_a_minder_that_cannot_start_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def enter() -> None:
        async with Lease.open(run.token, log=run.folder / "no-folder" / "log"):
            pass

    with pytest.raises(MinderError, match="no-folder"):
        asyncio.run(enter())
    monkeypatch.setattr(sys, "executable", str(run.folder / "no-python"))
    with pytest.raises(MinderError, match="no-python"):
        run_one(run, "true")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(MinderError, match="has died"):
        run_one(run, "true")


# Scratch directories


def test_scratch_is_made_with_its_marker_and_goes_with_the_lease(run: Run) -> None:
    outside = run.folder / "outside"
    outside.mkdir()
    (outside / "keep").write_text("keep")

    async def story(lease: Lease, _: Start) -> None:
        await lease.make_scratch(run.folder / "scratch")
        (run.folder / "scratch" / "link").symlink_to(outside)
        (run.folder / "scratch" / "a" / "b").mkdir(parents=True)
        await lease.make_scratch(run.folder / "kept")
        await lease.forget_scratch(run.folder / "kept")
        with pytest.raises(HostError, match="not a directory of this run"):
            await lease.make_scratch(outside)

    within(run, story)
    assert not (run.folder / "scratch").exists()
    assert (run.folder / "kept" / ".steelyard-scratch").read_text().startswith(f"{run.id}:")
    assert (outside / "keep").read_text() == "keep"
    assert stat.S_IMODE((run.folder / "kept").stat().st_mode) == 0o700


def test_scratch_that_cannot_be_made_is_an_error(run: Run) -> None:
    async def story(lease: Lease, _: Start) -> None:
        (run.folder / "none").touch()
        await lease.make_scratch(run.folder / "none" / "scratch")

    with pytest.raises(HostError, match="scratch"):
        within(run, story)
