from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from patience import until
from steelyard.hosts.agent.probe import find_probe
from steelyard.hosts.gate import GateRecord, adjust_exit, gate_command, read_record
from steelyard.model.command import Command, Exit

GATE = Path(__file__).parents[2] / "src/steelyard/hosts/gate.sh"


def test_a_gate_leads_to_the_command():
    command = Command(("fio", "a b"), env={"X": "1"})
    through = gate_command(command, 17, Path("/r"), Path("/p"))
    assert through.argv == ("/p", "gate", "17", "/r", "fio", "a b")
    assert gate_command(command, 17, Path("/r"), None).argv[-4:] == ("17", "/r", "fio", "a b")
    assert through.env == command.env


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox ash"])
def test_a_shell_waits_for_the_instant(tmp_path, shell):
    if shutil.which(shell.split(maxsplit=1)[0]) is None:
        pytest.skip(f"{shell.split(maxsplit=1)[0]} is not installed")
    at = time.time_ns() + 400_000_000
    argv = [
        *shell.split(),
        "-c",
        GATE.read_text(),
        "sh",
        str(at),
        str(tmp_path / "record"),
        "echo",
        "it's",
        "a  b",
    ]
    said = subprocess.run(argv, capture_output=True, check=True)
    assert (said.stdout, said.stderr) == (b"it's a  b\n", b"")
    with (tmp_path / "record").open() as file:
        found = read_record(file.fileno())
    assert found.released is not None
    assert at <= found.released < at + 20e9
    assert found.started is None


def test_where_there_is_no_bash_sleep_and_date_will_do(tmp_path):
    for name in ("sh", "sleep", "date"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    at = time.time_ns() + 400_000_000
    argv = ["/bin/sh", "-c", GATE.read_text(), "sh", str(at), str(tmp_path / "record"), "sh", "-c", "echo x"]
    said = subprocess.run(argv, capture_output=True, check=True, env={"PATH": str(tmp_path)})
    assert (said.stdout, said.stderr) == (b"x\n", b"")
    with (tmp_path / "record").open() as file:
        released = read_record(file.fileno()).released
    assert released is not None
    assert at <= released < at + 20e9


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox ash"])
def test_an_agent_is_told_when_the_gate_waits(tmp_path, shell):
    if shutil.which(shell.split(maxsplit=1)[0]) is None:
        pytest.skip(f"{shell.split(maxsplit=1)[0]} is not installed")
    heard, told = os.pipe()
    script = f'exec 3>&{told} {told}>&-; exec "$@"'
    at = time.time_ns() + 60_000_000_000
    argv = [*shell.split(), "-c", GATE.read_text(), "sh", str(at), str(tmp_path / "record"), "true"]
    environment = {**os.environ, "STEELYARD_CHILD": "n1:7"}
    gate = subprocess.Popen(["bash", "-c", script, "sh", *argv], pass_fds=[told], env=environment)
    os.close(told)
    try:
        with os.fdopen(heard) as events:
            assert events.readline() == f"started n1:7 {gate.pid}\n"
        assert gate.poll() is None, "it waits"
    finally:
        gate.kill()
        gate.wait()


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox ash"])
def test_the_program_does_not_get_the_stream_of_events(tmp_path, shell):
    if shutil.which(shell.split(maxsplit=1)[0]) is None:
        pytest.skip(f"{shell.split(maxsplit=1)[0]} is not installed")
    heard, told = os.pipe()
    program = ("sh", "-c", "{ echo unwanted >&3; } 2>/dev/null || exit 5")
    argv = [*shell.split(), "-c", GATE.read_text(), "sh", "1", str(tmp_path / "record"), *program]
    environment = {**os.environ, "STEELYARD_CHILD": "n1:7"}
    script = f'exec 3>&{told} {told}>&-; exec "$@"'
    gate = subprocess.Popen(["bash", "-c", script, "sh", *argv], pass_fds=[told], env=environment)
    os.close(told)
    with os.fdopen(heard) as events:
        assert events.read() == f"started n1:7 {gate.pid}\n"
    assert gate.wait() == 5


def test_a_gate_whose_waiting_is_ended_lets_nothing_begin(tmp_path):
    at = time.time_ns() + 60_000_000_000
    argv = ["sh", "-c", GATE.read_text(), "sh", str(at), str(tmp_path / "record"), "touch", "begun"]
    gate = subprocess.Popen(argv, cwd=tmp_path)
    children = Path(f"/proc/{gate.pid}/task/{gate.pid}/children")
    if not children.exists():
        gate.kill()
        pytest.skip("this kernel does not list the children of a process")
    assert until((tmp_path / "record").exists)  # then the other shell waits
    (waiting,) = children.read_text().split()
    os.kill(int(waiting), signal.SIGKILL)
    assert gate.wait() == 128 + signal.SIGKILL
    assert not (tmp_path / "begun").exists()


def test_a_record_that_cannot_be_written_keeps_nothing_from_beginning(tmp_path):
    argv = ["sh", "-c", GATE.read_text(), "sh", "1", str(tmp_path / "no" / "record"), "sh", "-c", "exit 5"]
    assert subprocess.run(argv, check=False, capture_output=True).returncode == 5


def test_start_up_files_of_the_shell_are_not_read(tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    for name in ("environment", ".bashrc"):
        (tmp_path / name).write_text("echo unwanted\n")
    # Below an sshd, bash -c reads ~/.bashrc too (SSH_SOURCE_BASHRC, as Debian builds it).
    sshd = {"HOME": str(tmp_path), "SSH_CLIENT": "127.0.0.1 1 2", "SHLVL": "0", "PATH": os.environ["PATH"]}
    command = gate_command(Command(("echo", "said")), 1, tmp_path / "record", None)
    environment = {**sshd, "BASH_ENV": str(tmp_path / "environment")}
    said = subprocess.run(command.argv, env=environment, capture_output=True, check=True)
    assert said.stdout == b"said\n"


def test_an_instant_that_has_passed_is_no_wait(tmp_path):
    argv = ["sh", "-c", GATE.read_text(), "sh", "1", str(tmp_path / "record"), "sh", "-c", "exit 5"]
    assert subprocess.run(argv, check=False).returncode == 5


@pytest.mark.parametrize("text", ["", "1", "x y z", "é 1 2", "1 2 3"])
def test_a_broken_record_is_none(text):
    fd = os.memfd_create("record")
    os.write(fd, text.encode())
    assert read_record(fd) == GateRecord()
    os.close(fd)


def test_time_counts_from_the_start():
    ended = Exit(0, None, wall=5.0, user=1.0, system=0.0, peak_memory=1, started=100.0)
    found = adjust_exit(ended, GateRecord(103_000_000_000, 103_500_000_000))
    assert (found.started, found.released, found.wall) == (103.5, 103.0, 1.5)
    assert adjust_exit(ended, GateRecord(103_000_000_000, None)).started == 103.0
    assert adjust_exit(ended, GateRecord()) == ended


def test_where_the_probe_lies(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_PROBE", "none")
    assert find_probe("Linux", "x86_64") is None
    monkeypatch.setenv("STEELYARD_PROBE", str(tmp_path / "probe"))
    assert find_probe("Linux", "x86_64") is None
    (tmp_path / "probe").write_text("")
    assert find_probe("Linux", "x86_64") is None
    (tmp_path / "probe").chmod(0o755)
    assert find_probe("Linux", "x86_64") == tmp_path / "probe"
    assert find_probe("Darwin", "x86_64") is None
    monkeypatch.delenv("STEELYARD_PROBE")
    assert find_probe("Linux", "../../../../bin/sh") is None
    assert find_probe("Linux", "no-such-machine") is None
