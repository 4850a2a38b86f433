from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from own_children import children
from patience import until
from steelyard.hosts.minder.processes import read_own_peak
from steelyard.hosts.minder.spawn import Spawner, launch, launch_through_helper
from steelyard.hosts.minder.spawner import CODE, build_executable, read_numbers

HEADS = {"x86_64": ".intel_syntax noprefix\n", "aarch64": ""}
ASSEMBLERS = {"x86_64": "x86_64-linux-gnu-as", "aarch64": "aarch64-linux-gnu-as"}
MACHINE = os.uname().machine


@pytest.fixture
def streams():
    found = [os.open(os.devnull, os.O_RDWR) for _ in range(3)]
    yield found
    for fd in found:
        os.close(fd)


@pytest.fixture
def spawner():
    if (found := Spawner()).small is None:
        pytest.skip(f"no small program for {MACHINE}")
    yield found
    os.close(found.small)


@pytest.mark.parametrize("machine", sorted(CODE))
def test_the_bytes_are_those_of_the_instructions(tmp_path: Path, machine: str) -> None:
    if shutil.which(ASSEMBLERS[machine]) is None:
        pytest.skip(f"no {ASSEMBLERS[machine]}")
    _, code = CODE[machine]
    (tmp_path / "code.s").write_text(HEADS[machine] + "".join(f"{text}\n" for _, text in code))
    subprocess.run([ASSEMBLERS[machine], "code.s", "-o", "code.o"], cwd=tmp_path, check=True)
    subprocess.run(
        ["objcopy", "-I", "elf64-little", "-O", "binary", "-j", ".text", "code.o"], cwd=tmp_path, check=True
    )
    assert (tmp_path / "code.o").read_bytes() == b"".join(bytes.fromhex(each) for each, _ in code)


@pytest.mark.parametrize("machine", sorted(CODE))
def test_it_starts_a_program_and_tells_its_pid(tmp_path: Path, streams, machine: str) -> None:
    number, code = CODE[machine]
    bytes_ = b"".join(bytes.fromhex(each) for each, _ in code)
    small, words = tmp_path / "small", ["/bin/sh", "sh", "-c", "echo $$"]
    if machine != MACHINE:
        if (emulator := shutil.which(f"qemu-{machine}")) is None:
            pytest.skip(f"no emulator of {machine}")
        assert machine == "aarch64"
        bytes_ = bytes_.replace(
            bytes.fromhex("200290d2"), bytes.fromhex("200280d2")
        )  # it knows no CLONE_PARENT
        words = [emulator, "-0", words[0], str(small), *words[1:]]
    small.write_bytes(build_executable(number, bytes_))
    small.chmod(0o755)
    out = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)
    heard, tells = os.pipe()
    program = words[0] if machine != MACHINE else str(small)
    between = launch(
        program.encode(), [word.encode() for word in words], {}, [*streams[:1], out, streams[2], tells]
    )
    os.close(tells)
    (pid,) = read_numbers(heard)
    os.close(out)
    assert os.waitpid(between, 0)[1] == 0
    if machine == MACHINE:
        assert os.waitpid(pid, 0)[1] == 0
    assert until(lambda: (tmp_path / "out").read_text() == f"{pid}\n")


def test_what_it_starts_is_our_child_in_a_session_of_its_own(spawner, streams) -> None:
    pid, least_peak = spawner.launch(b"/bin/sleep", [b"sleep", b"9"], {}, streams)
    try:
        assert (os.getsid(pid), os.getpgid(pid), least_peak) == (pid, pid, 0)
        assert {str(Path(f"/proc/{pid}/fd/{fd}").readlink()) for fd in "012"} == {os.devnull}
    finally:
        os.kill(pid, 9)
        assert os.waitpid(pid, 0) == (pid, 9)


@pytest.mark.parametrize(
    ("program", "fault"),
    [(b"/no/such", errno.ENOENT), (b"/etc", errno.EACCES), (b"/etc/passwd", errno.EACCES)],
)
def test_what_cannot_begin_says_why_and_leaves_nothing(spawner, streams, program: bytes, fault: int) -> None:
    before = children()
    with pytest.raises(OSError) as caught:
        spawner.launch(program, [program], {}, streams)
    assert caught.value.errno == fault
    assert children() <= before


def test_without_it_programs_start_and_their_peak_is_ours(streams) -> None:
    spawner = Spawner()
    if spawner.small is not None:
        os.close(spawner.small)
    spawner.small = os.memfd_create("no program")
    assert launch_through_helper(spawner.small, [b"/bin/true", b"true"], {}, streams) is None
    pid, least_peak = spawner.launch(b"/bin/true", [b"true"], {}, streams)
    os.close(spawner.small)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    assert usage.ru_maxrss * 1024 <= least_peak <= read_own_peak()
