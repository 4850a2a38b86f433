"""steelyard-probe, driven through pipes: the words of docs/reference/agent-protocol.md, one by one."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import steelyard
from agents import PROBE, Agent, Stream, frames, gone
from patience import PATIENCE, until
from steelyard.hosts.minder.processes import (
    find_variable,
    list_pids,
    read_environment,
    read_proc,
    read_process,
)

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason="steelyard-probe is not built: make probe")
MARKER = ".steelyard-scratch"


@contextlib.contextmanager
def an_agent(**options: float) -> Iterator[Agent]:
    made = Agent(str(PROBE), **options)  # type: ignore[arg-type]
    try:
        assert made.replies.line() == f"steelyard-agent 1 probe {platform.system()} {platform.machine()}"
        yield made
    finally:
        made.clean()


@pytest.fixture
def agent() -> Iterator[Agent]:
    with an_agent() as made:
        yield made


# Replies --------------------------------------------------------------------------------------------------


def test_it_is_of_the_same_version_and_says_what_it_can() -> None:
    says = lambda word: subprocess.run([PROBE, word], capture_output=True, text=True, check=True).stdout  # noqa: E731
    assert says("--version") == f"steelyard-probe {steelyard.__version__}\n"
    assert all(word in says("--help") for word in ("agent TOKEN", "gate AT", "sample EVERY_MS", "Examples"))
    assert abs(int(says("clock")) - time.time_ns()) < PATIENCE * 1e9
    refused = subprocess.run([PROBE, "sing"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "unknown command sing" in refused.stderr


def test_the_clock_lies_between_ours(agent: Agent) -> None:
    before = time.time_ns()
    code, text = agent.ask("clock")
    assert code == 0
    assert before <= int(text) <= time.time_ns()


def test_reading_files(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    for name in ("a b/one", "a b/.hidden", "two"):
        (tmp_path / name).write_bytes(name.encode() + b"\n\xff")
    (tmp_path / "big").write_bytes(b"x" * (1 << 21))
    os.mkfifo(tmp_path / "pipe")
    patterns = ["/*/o*", "/two", "/big", "/pipe/", "/none", "/a b"]
    code, data = agent.ask("read", *(f"{tmp_path}{each}" for each in patterns), "/proc/self/stat")
    found = frames(data)
    assert code == 0
    assert found.pop("/proc/self/stat").startswith(b"%d (steelyard-probe" % agent.process.pid)
    assert found == {
        f"{tmp_path}/a b/one": b"a b/one\n\xff",
        f"{tmp_path}/two": b"two\n\xff",
        f"{tmp_path}/big": b"x" * (1 << 20),
    }
    assert agent.ask("read") == (0, b"")


def test_what_it_does_not_know_gets_code_2(agent: Agent) -> None:
    for words in (
        ("sing",),
        ("kill", "1"),
        ("start", "1", "-"),
        ("scratch", "here", "run:1"),
        ("scratch", "/here"),
        ("do", "a b", "1", "true"),
    ):
        code, reason = agent.ask(*words)
        assert (code, bool(reason)) == (2, True)
    assert agent.ask("fetch", "nothing")[0] == 1
    agent.send("beat")
    assert agent.ask("clock")[0] == 0


# Scripts --------------------------------------------------------------------------------------------------


def test_a_script_gets_its_words_and_nothing_to_read(agent: Agent) -> None:
    code, printed = agent.script('cat; printf "%s|" "$0" "$@"; exit 7', "it's", "a\nb", "", "$HOME")
    assert (code, printed) == (7, b"sh|it's|a\nb||$HOME|")
    assert agent.script("kill -TERM $$") == (128 + signal.SIGTERM, b"")
    assert agent.script('printf %s "$STEELYARD_TOKEN"') == (0, str(agent.token).encode())


def test_a_script_has_so_much_time_and_leaves_nothing(agent: Agent) -> None:
    code, printed = agent.script("echo here; trap '' TERM; setsid sleep 300 & sleep 300", seconds=0.2)
    assert (code, printed) == (124, b"here\n")
    assert agent.script("setsid sleep 300 & echo there") == (0, b"there\n")
    assert agent.bearers() == []


def test_a_script_may_print_so_much(agent: Agent) -> None:
    code, printed = agent.script("exec yes")
    assert (code, len(printed)) == (128 + signal.SIGPIPE, 16 << 20)
    assert agent.ask("clock")[0] == 0


# Programs -------------------------------------------------------------------------------------------------


def test_a_program_and_its_figures(agent: Agent, tmp_path: Path) -> None:
    words = ["sh", "-c", 'pwd; cat; echo "$A" >&2; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; exit 3']
    (tmp_path / "in").write_text("given\n")
    out = str(tmp_path / "out")
    before = time.time_ns()
    request = ("start", "p1", "-", str(tmp_path), str(tmp_path / "in"), out, out, "1", "A=x y\nz", *words)
    assert agent.ask(*request) == (0, b"")
    assert agent.event()[:2] == ["started", "p1"]
    event, name, code, number, *figures, started, released, leftovers = agent.event()
    wall, user, system, peak = map(float, figures)
    assert (event, name, code, number, released, leftovers) == ("exited", "p1", "3", "-", "-", "0")
    assert 0 < user + system < 2 * wall + 0.1
    assert 1e5 < peak < 1e8
    assert before < int(started) < time.time_ns()
    assert Path(out).read_text() == f"{tmp_path}\ngiven\nx y\nz\n"


def test_it_heads_a_session_with_signals_as_usual(agent: Agent, tmp_path: Path) -> None:
    pid = agent.started("s", "sleep", "300")
    agent.settled(b"sleep", 1)
    found = read_process(pid)
    assert found
    assert (found.session, found.parent) == (pid, agent.process.pid)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    # Nobody can reset 32 and 33: the C library keeps them for itself, and hands on what it inherited.
    ours = ~(1 << 31 | 1 << 32)
    assert {int(status[name], 16) & ours for name in ("SigBlk", "SigIgn", "SigCgt")} == {0}
    # For an instant the loader holds open a library: what lasts is what it was handed.
    assert until(lambda: len(list(Path(f"/proc/{pid}/fd").iterdir())) == 3)
    assert find_variable(read_environment(pid), "STEELYARD_CHILD") == "s"


@pytest.mark.parametrize(
    ("what", "errno", "changes"),
    [
        ("program", "ENOENT", {"program": "no-such-program"}),
        ("program", "EACCES", {"program": "/etc/passwd"}),
        ("directory", "ENOENT", {"cwd": "/nowhere"}),
        ("stdin", "ENOENT", {"stdin": "/nowhere/in"}),
        ("stdout", "EISDIR", {"stdout": "/tmp"}),
        ("stderr", "ENOENT", {"stderr": "/nowhere/err"}),
    ],
)
@pytest.mark.parametrize("at", ["-", "1"])
def test_why_it_could_not_be_started(
    agent: Agent, what: str, errno: str, changes: dict[str, str], at: str
) -> None:
    program = changes.get("program", "true")
    agent.start("f", program, at=at, **{name: each for name, each in changes.items() if name != "program"})
    assert agent.event() == ["failed", "f", what, errno]
    assert agent.script("echo still there") == (0, b"still there\n")


def test_what_fails_at_its_instant_only_exits_as_in_a_shell(agent: Agent, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/nowhere/interpreter\n")
    script.chmod(0o700)
    agent.start("now", str(script))
    assert agent.event() == ["failed", "now", "program", "ENOENT"]
    agent.started("then", str(script), at="1")
    assert agent.event() == ["say", "then", "could", "not", "begin:", "ENOENT"]
    event = agent.event()
    assert (event[:4], event[8:]) == (["exited", "then", "127", "-"], ["-", "-", "0"])


def test_sixteen_begin_at_an_instant_and_never_before(agent: Agent) -> None:
    at = time.time_ns() + 500_000_000
    for number in range(16):
        agent.start(f"w{number}", "true", at=str(at))
    events = [agent.event() for _ in range(32)]  # on a busy machine some have ended before others started
    exits = [event for event in events if event[0] == "exited"]
    assert len(exits) == 16
    assert {event[2] for event in exits} == {"0"}
    for event in exits:
        started, released = int(event[8]), int(event[9])
        assert at <= released <= started


def test_no_end_of_many_is_missed(agent: Agent) -> None:
    for turn in range(10):
        at = str(time.time_ns() + 20_000_000)
        for number in range(16):
            agent.send("start", f"{turn}.{number}", at, "/", "-", "-", "-", "0", "true")
        ended: set[str] = set()
        while len(ended) < 16:
            event = agent.event()
            ended |= {event[1]} if event[0] == "exited" else set()


def test_one_that_waits_can_be_killed(agent: Agent) -> None:
    pid = agent.started("w", "true", at=str(time.time_ns() + 300 * 10**9))
    assert agent.ask("kill", "w", "5") == (0, b"")
    event = agent.event()
    assert (event[2:4], event[8:]) == (["-", str(int(signal.SIGTERM))], ["-", "-", "0"])
    assert gone(pid)


# The end of a program -------------------------------------------------------------------------------------


def test_kill_ends_what_ignores_it_and_what_left_its_session(agent: Agent) -> None:
    script = "trap '' TERM HUP; sleep 300 & (setsid sh -c 'sleep 300 & wait' &) ; sleep 300"
    agent.started("k", "sh", "-c", script)
    agent.settled(b"sleep", 3)
    other = agent.started("other", "sleep", "300")
    agent.ask("kill", "k", "0.1")
    event = agent.event()
    assert event[:4] == ["exited", "k", "-", str(int(signal.SIGKILL))]
    assert agent.bearers() == [other]


def test_what_hears_sigterm_has_its_grace(agent: Agent, tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 5' TERM; kill -STOP $$; while :; do sleep 0.01; done"
    pid = agent.started("g", "sh", "-c", script, stdout=str(tmp_path / "out"))
    assert until(lambda: (found := read_process(pid)) is not None and found.state == b"T")
    agent.ask("kill", "g", str(PATIENCE))
    event = agent.event()
    assert event[2:4] == ["5", "-"]
    assert (tmp_path / "out").read_text() == "bye\n"
    assert agent.ask("kill", "g", "1") == (0, b"")


def test_leftovers_are_counted_and_ended(agent: Agent, tmp_path: Path) -> None:
    go = tmp_path / "go"
    agent.started("keeper", "sleep", "300")
    three = "sleep 300 & (setsid sleep 300 &) ; (env -i setsid sleep 300 &)"
    agent.started("l", "sh", "-c", f"{three}; until [ -e {go} ]; do sleep 0.01; done")
    sleepers = lambda: [p for p in list_pids() if read_proc(f"/proc/{p}/cmdline") == b"sleep\x00300\x00"]  # noqa: E731
    assert until(lambda: sum(is_below(pid, agent.process.pid) for pid in sleepers()) == 4)
    go.touch()
    event = agent.event()
    assert event[:3] == ["exited", "l", "0"]
    # The third hides its environment; while another child runs, nobody can say whose it is.
    assert event[-1] == "2"
    agent.settled(b"sleep", 1)


def test_a_bomb_cannot_fork_away(agent: Agent) -> None:
    # It starts 400 processes at most, each in a session of its own, while it is being ended.
    script = "i=0; while [ $i -lt 400 ]; do setsid sleep 300 & i=$((i+1)); done; wait"
    agent.started("b", "sh", "-c", script)
    assert until(lambda: len(agent.bearers()) > 5)
    agent.ask("kill", "b", "0")
    assert agent.event()[:2] == ["exited", "b"]
    assert agent.bearers() == []


# The end of the lease -------------------------------------------------------------------------------------

DAEMONS = """trap '' TERM HUP
sleep 300 & (setsid sleep 300 &); (setsid sh -c 'env -i setsid sleep 300 &' &); sleep 300"""


def a_busy(agent: Agent) -> list[int]:
    """Start what is hard to end; return the pids of all of it."""
    agent.started("d", "sh", "-c", DAEMONS)
    agent.started("w", "true", at=str(time.time_ns() + 300 * 10**9))
    below = lambda: [pid for pid in list_pids() if is_below(pid, agent.process.pid)]  # noqa: E731
    assert until(lambda: len(below()) == 6)  # the shell, four `sleep`s, and what waits
    return below()


def is_below(pid: int, root: int) -> bool:
    while (found := read_process(pid)) is not None and found.parent > 1:
        if found.parent == root:
            return True
        pid = found.parent
    return False


def test_nothing_outlives_the_end_of_stdin(agent: Agent) -> None:
    everything = a_busy(agent)
    assert agent.end() == 0
    assert all(map(gone, everything))


def test_nothing_outlives_sigterm(agent: Agent) -> None:
    everything = a_busy(agent)
    agent.process.terminate()
    assert agent.process.wait() == 0
    assert all(map(gone, everything))


def test_nothing_outlives_a_controller_that_stopped_to_listen(agent: Agent) -> None:
    everything = a_busy(agent)
    agent.replies.pipe.close()
    assert agent.process.wait() == 0
    assert all(map(gone, everything))


def test_nothing_outlives_garbage(agent: Agent) -> None:
    everything = a_busy(agent)
    agent.stdin.write(b'\x00\xff ; rm "$(garbage\n')
    assert agent.event() == ["say", "the", "agent", "ends:", "a", "request", "made", "no", "sense"]
    assert agent.process.wait() == 0
    assert all(map(gone, everything))


def test_nothing_outlives_silence_but_a_beat_prolongs_the_lease() -> None:
    with an_agent(patience=6.0) as agent:
        pid = agent.started("s", "sleep", "300")
        began = time.monotonic()
        while time.monotonic() - began < 9:
            agent.send("beat")
            time.sleep(0.05)
        assert agent.process.poll() is None
        assert agent.process.wait() == 0
        assert gone(pid)


def test_a_killed_agent_takes_its_programs_along(agent: Agent) -> None:
    programs = [agent.started("p", "sleep", "300"), agent.started("w", "true", at=str(2**62))]
    agent.settled(b"sleep", 1)
    agent.process.kill()
    agent.process.wait()
    assert until(lambda: all(map(gone, programs)))


# Scratch --------------------------------------------------------------------------------------------------


def test_scratch_goes_with_the_lease(agent: Agent, tmp_path: Path) -> None:
    scratch, foreign = tmp_path / "new" / "scratch", tmp_path / "foreign"
    assert agent.ask("scratch", str(scratch), agent.mark) == (0, b"")
    assert scratch.stat().st_mode & 0o777 == 0o700
    assert (scratch / MARKER).read_text() == agent.mark
    foreign.mkdir()
    (foreign / "file").write_text("precious")
    (scratch / "deep" / "er").mkdir(parents=True)
    (scratch / "deep" / "file").write_text("x")
    (scratch / "link").symlink_to(foreign)
    (scratch / "deep" / "up").symlink_to("../..")
    agent.end()
    assert not scratch.parent.exists()
    assert (foreign / "file").read_text() == "precious"


def test_scratch_is_removed_on_request(agent: Agent, tmp_path: Path) -> None:
    scratch, other = tmp_path / "new" / "scratch", tmp_path / "other"
    other.mkdir()
    agent.ask("scratch", str(scratch), agent.mark)
    (scratch / "deep").mkdir()
    assert agent.remove(scratch) == (0, "")
    assert not scratch.parent.exists()
    assert agent.remove(scratch) == (0, "")
    code, reason = agent.remove(other)
    assert (code, str(other) in reason) == (1, True)
    assert other.exists()


def test_why_there_is_no_scratch(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        code, reason = agent.ask("scratch", str(path), agent.mark)
        assert code == 1
        assert str(tmp_path / "file").encode() in reason


def test_a_desk_and_what_is_written_there(agent: Agent) -> None:
    code, path = agent.ask("desk", agent.mark)
    desk = Path(os.fsdecode(path))
    assert (code, desk.stat().st_mode & 0o777) == (0, 0o700)
    assert agent.ask("write", str(desk / "file"), "a\nb") == (0, b"")
    assert ((desk / "file").read_text(), (desk / "file").stat().st_mode & 0o777) == ("a\nb", 0o600)
    assert agent.ask("write", str(desk / "file"), "again")[0] == 1
    agent.end()
    assert not desk.exists()


# Becoming, passing, sampling ------------------------------------------------------------------------------


def test_a_shell_becomes_the_probe_and_that_another() -> None:
    argv = ("/bin/sh", "-c", 'read -r line; exec "$0" agent a:b:c 2 20', str(PROBE))
    agent = Agent("", popen=lambda words, **options: subprocess.Popen(argv, **options))
    try:
        agent.send("become")
        hello = agent.replies.line()
        agent.send("become", str(PROBE))
        assert agent.replies.line() == hello
        assert agent.script('echo "$STEELYARD_TOKEN"') == (0, b"a:b:c\n")
        code, reason = agent.ask("become", "/nowhere/probe")
        assert (code, b"/nowhere/probe" in reason) == (1, True)
        agent.started("s", "sleep", "300")
        assert agent.ask("become", str(PROBE))[0] == 1
        assert agent.end() == 0
    finally:
        agent.clean()


def test_a_gate(tmp_path: Path) -> None:
    at, record = time.time_ns() + 200_000_000, tmp_path / "record"
    # Were the helper its child, the shell would wait for it, or see it among its children.
    words = ["sh", "-c", "cat /proc/$$/task/$$/children; date +%s%N; exit 4"]
    done = subprocess.run(
        [PROBE, "gate", str(at), record, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (4, "")
    *children, printed = done.stdout.split()
    assert children == [] or len(children) == 1  # the `cat` itself
    assert until(lambda: record.read_text().endswith("\n"))
    released, started = map(int, record.read_text().split())
    assert at <= released <= started
    assert released <= int(printed)


def test_a_gate_that_leads_nowhere(tmp_path: Path) -> None:
    gate = [PROBE, "gate", "1", tmp_path / "record", "no-such-program"]
    done = subprocess.run(gate, capture_output=True, text=True, check=False)
    assert (done.returncode, "no-such-program" in done.stderr) == (127, True)
    assert (tmp_path / "record").read_text() == ""


def test_sampling(tmp_path: Path) -> None:
    changing, coming = tmp_path / "changing", tmp_path / "d-coming"
    changing.write_text("1")
    sampler = subprocess.Popen(
        [PROBE, "sample", "20", changing, tmp_path / "d*", "/proc/uptime"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert sampler.stdout
    assert sampler.stdin
    stream = Stream(sampler.stdout)
    try:

        def following() -> tuple[list[int], dict[str, bytes]]:
            word, *numbers = stream.line().split()
            assert word == "sample"
            return list(map(int, numbers)), frames(stream.take(int(numbers[2])))

        (wall, monotonic, _), first = following()
        assert abs(wall - time.time_ns()) < PATIENCE * 1e9
        assert set(first) == {str(changing), "/proc/uptime"}
        changing.write_text("23")
        coming.write_text("new")
        later, found = following()
        while found.get(str(coming)) != b"new":
            assert later[1] > monotonic
            later, found = following()
        assert found[str(changing)] == b"23"
        assert found["/proc/uptime"] != first["/proc/uptime"] or later[1] - monotonic < 2e7
        sampler.stdin.close()
        assert sampler.wait() == 0
    finally:
        sampler.kill()
        sampler.wait()
        stream.pipe.close()
