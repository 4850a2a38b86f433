"""The passthrough under real programs: what they see, what is told, and what is left."""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from patience import until
from recorded_programs import (
    Recorded,
    compile_program,
    python,
    read_recorded,
    require_passthrough,
    run_recorded,
)
from steelyard.hosts.capturing import write_passthrough
from steelyard.traces.recorder import find_recorder

WAYS = ("fuse", "fuse-cached")


@pytest.fixture(autouse=True)
def passthrough() -> Path:
    return require_passthrough()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "trace").mkdir(mode=0o700)
    return tmp_path / "data"


def words(data: Path, *argv: object, way: str = "fuse") -> list[str]:
    before = write_passthrough([str(find_recorder(way))], way, str(data.parent / "trace"), [str(data)])
    return [*before, *map(str, argv)]


def list_servers(data: Path) -> list[int]:
    """Passthroughs that write segments beside `data`."""
    place = str(data.parent / "trace")
    found = glob.glob("/proc/[0-9]*/fd/*")  # noqa: PTH207 - that of pathlib fails when a process ends meanwhile
    links = ((path, path.parent.parent.name) for path in map(Path, found))
    return sorted({int(pid) for path, pid in links if read_link(path) == place})


def read_link(path: Path) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - of a descriptor that may be gone
    except OSError:
        return ""


def run_shown(data: Path, *argv: object, way: str = "fuse", check: bool = True, **more: Any) -> Recorded:
    """Run a program that sees `data` through FUSE; no passthrough is left, and no mount."""
    ended = subprocess.run(
        words(data, *argv, way=way), check=False, capture_output=True, text=True, timeout=300, **more
    )
    assert not check or ended.returncode == 0, ended.stderr
    until(lambda: not list_servers(data))
    assert "steelyard" not in Path("/proc/self/mountinfo").read_text()
    return read_recorded(data.parent, ended)


MUCH = """
import errno, fcntl, mmap, os, stat, sys
os.chdir(sys.argv[1])
def attempt(call, *words):
    try:
        return call(*words)
    except OSError as error:
        return errno.errorcode[error.errno]
def show(*words):
    print(*words)
os.umask(0o027)
show(attempt(os.stat, "missing"), attempt(os.open, "missing", os.O_RDONLY), attempt(os.rmdir, "missing"))
file = os.open("a", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
show(attempt(os.open, "a", os.O_CREAT | os.O_EXCL), os.write(file, b"x" * 5000), os.pread(file, 10, 4995))
show(oct(os.fstat(file).st_mode), os.fstat(file).st_size, os.stat("a").st_ino == os.fstat(file).st_ino)
os.ftruncate(file, 100); show(os.stat("a").st_size)
show(attempt(os.posix_fallocate, file, 0, 8192), os.stat("a").st_size)
os.truncate("a", 20000); show(os.lseek(file, 0, os.SEEK_END), os.read(file, 1))
more = os.open("a", os.O_WRONLY | os.O_APPEND); os.write(more, b"end"); os.close(more)
show(os.stat("a").st_size, os.pread(file, 10, 20000))
os.fsync(file); os.fdatasync(file); os.fchmod(file, 0o640); show(oct(os.stat("a").st_mode))
os.utime("a", ns=(1_000_000_007, 2_000_000_009)); show(os.stat("a").st_atime_ns, os.stat("a").st_mtime_ns)
os.utime("a", ns=(-1_500_000_000, -500_000_000)); show(os.stat("a").st_mtime_ns)
os.mkdir("d"); os.mkdir("d/e"); show(attempt(os.rmdir, "d"), attempt(os.mkdir, "d"))
show(oct(os.stat("d").st_mode))
os.link("a", "d/b"); show(os.stat("a").st_nlink, os.stat("a").st_ino == os.stat("d/b").st_ino)
os.symlink("d/b", "s"); show(os.readlink("s"), os.stat("s").st_size, os.lstat("s").st_size)
os.rename("d/b", "d/c"); show(os.path.exists("s"), sorted(os.listdir("d")), attempt(os.rename, "d", "d/e/f"))
os.unlink("a"); show(os.fstat(file).st_nlink, os.pread(file, 3, 20000), attempt(os.stat, "a"))
os.unlink("d/c"); show(os.fstat(file).st_nlink, os.pwrite(file, b"late", 0), os.pread(file, 4, 0))
os.mkfifo("f"); show(stat.S_ISFIFO(os.stat("f").st_mode))
names = [f"n{n}" for n in range(300)]
for name in names: os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
listed = os.listdir("."); show(len(listed), sorted(listed)[:3])
with os.scandir(".") as entries: show(sorted((e.name, e.is_dir(), e.is_symlink()) for e in entries)[:4])
one = os.open("n1", os.O_RDWR); os.pwrite(one, b"0123456789" * 1000, 0)
two = os.open("n2", os.O_RDWR)
show(attempt(os.copy_file_range, one, two, 5000, 10, 20), os.pread(two, 12, 20))
hole = os.open("n3", os.O_RDWR); os.pwrite(hole, b"x", 1 << 20)
show(attempt(os.lseek, hole, 0, os.SEEK_HOLE))
fcntl.lockf(one, fcntl.LOCK_EX); fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
other = os.open("n2", os.O_RDWR); show(attempt(fcntl.flock, other, fcntl.LOCK_EX | fcntl.LOCK_NB))
show(attempt(os.setxattr, "n1", "user.steelyard", b"value"), attempt(os.getxattr, "n1", "user.steelyard"))
show(attempt(os.listxattr, "n1"), attempt(os.removexattr, "n1", "user.steelyard"))
show(attempt(os.getxattr, "n1", "user.none"))
show(mmap.mmap(one, 0, access=mmap.ACCESS_COPY)[:10], os.statvfs(".").f_namemax)
show(os.pread(os.open("n1", os.O_RDONLY | os.O_DIRECT), 0, 0), oct(os.umask(0)))
pid = os.fork()
if not pid: os._exit(os.pwrite(one, b"child", 0))
show(os.waitpid(pid, 0)[1] >> 8, os.pread(one, 5, 0), attempt(os.wait))
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_program_sees_what_it_sees_without(data: Path, tmp_path: Path, way: str) -> None:
    (tmp_path / "bare").mkdir()
    bare = subprocess.run(python(MUCH, tmp_path / "bare"), check=True, capture_output=True, text=True)
    shown = run_shown(data, *python(MUCH, data), way=way)
    assert shown.ended.stdout.splitlines() == bare.stdout.splitlines()
    assert sorted(path.name for path in data.iterdir()) == sorted(
        p.name for p in (tmp_path / "bare").iterdir()
    )


TRANSFERS = """
import os, sys
place = sys.argv[1]
for name in ("one", "two"):
    file = os.open(f"{place}/{name}", os.O_RDWR | os.O_CREAT)
    for turn in range(100):
        os.write(file, bytes(4096 + turn))
    os.fsync(file)
    os.lseek(file, 0, 0)
    while os.read(file, 8192): pass
    os.pread(file, 100, 5000)
    os.close(file)
"""


def test_both_ways_tell_the_same_bytes_and_calls(data: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    (there / "data").mkdir(parents=True)
    by_library = run_recorded(there, *python(TRANSFERS, there / "data"))
    by_fuse = run_shown(data, *python(TRANSFERS, data))
    for name in ("one", "two"):
        assert transfers(by_fuse, data / name) == transfers(by_library, there / "data" / name)
    (process,) = {row["process"] for row in by_fuse.on(data / "one", "pwrite")}
    (segment,) = [each for each in by_fuse.segments if each.process == process]
    assert segment.arguments[-1] == str(data)


def transfers(recorded: Recorded, path: Path) -> Counter[tuple[str, int, int]]:
    """Reads, writes and syncs of a file: kind, offset, bytes."""
    rows = [row for row in recorded.on(path) if row["kind"] in ("read", "write", "sync")]
    return Counter((row["kind"], row["offset"] or 0, row["result"]) for row in rows)


STATIC = r"""
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **words) {
    int file = open(words[1], O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 50; i++) if (write(file, words, 8) != 8) return 1;
    return fsync(file);
}
"""


def test_a_static_program_is_recorded(data: Path) -> None:
    program = compile_program(data.parent, STATIC, "-static")
    recorded = run_shown(data, program, data / "file")
    rows = recorded.on(data / "file", "pwrite")
    assert [(row["offset"], row["result"]) for row in rows] == [(8 * turn, 8) for turn in range(50)]
    assert all(row["duration"] > 0 for row in rows)
    assert len(recorded.on(data / "file", "fsync")) == 1
    assert (data / "file").stat().st_size == 400


ENDLESS = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
count = 0
while True:
    os.write(file, bytes(512))
    count += 1
    os.write(1, b"%d\\n" % count)
"""


def test_a_program_that_is_killed_leaves_its_data_and_its_trace(data: Path) -> None:
    process = subprocess.Popen(words(data, *python(ENDLESS, data / "file")), stdout=subprocess.PIPE)
    assert process.stdout
    for _ in range(300):
        said = int(process.stdout.readline())
    process.kill()
    said = max([said, *(int(line) for line in process.stdout.read().split(b"\n")[:-1])])
    process.wait()
    process.stdout.close()
    until(lambda: not list_servers(data))
    recorded = read_recorded(data.parent, subprocess.CompletedProcess([], -9, "", ""))
    told = len(recorded.on(data / "file", "pwrite"))
    assert told in (said, said + 1)
    assert (data / "file").stat().st_size == 512 * told
    assert not sum(segment.torn for segment in recorded.segments)


def test_a_passthrough_that_is_killed_leaves_the_data(data: Path) -> None:
    with subprocess.Popen(
        words(data, *python(ENDLESS, data / "file")), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        for _ in range(100):
            process.stdout.readline()
        (server,) = list_servers(data)
        os.kill(server, signal.SIGKILL)
        said = max([100, *map(int, process.stdout.read().split())])
        assert re.search(rb"Errno (103|107)", process.stderr.read())  # in the middle of a call, or before it
    until(lambda: not list_servers(data))
    assert (data / "file").stat().st_size in (512 * said, 512 * (said + 1))
    (data / "more").write_text("the directory is as before")
    recorded = read_recorded(data.parent, subprocess.CompletedProcess([], 1, "", ""))
    assert len(recorded.on(data / "file", "pwrite")) in (said, said + 1)


def test_what_ends_the_program_does_not_end_those_that_it_started(data: Path) -> None:
    """The session's signals reach the program; a daemon of it is served until it ends."""
    go = data.parent / "go"
    later = f"(trap '' HUP; until [ -e {go} ]; do sleep 0.1; done; echo late > {data}/late) >/dev/null 2>&1 &"
    subprocess.run(words(data, "sh", "-c", later), check=True, capture_output=True, timeout=60)
    assert list_servers(data)
    go.touch()
    until(lambda: not list_servers(data))
    assert (data / "late").read_text() == "late\n"
    assert read_recorded(data.parent, subprocess.CompletedProcess([], 0, "", "")).on(data / "late", "pwrite")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_another_account_makes_is_its_own(data: Path, enterable_scratch: Path) -> None:
    place = enterable_scratch / "data"
    place.mkdir()
    os.chmod(place, 0o777)  # noqa: PTH101
    (enterable_scratch / "trace").mkdir(mode=0o700)
    account = ("setpriv", "--reuid=60578", "--regid=60578", "--clear-groups", "--no-new-privs")
    script = f"cd {place}; echo x > file; mkdir d; ln -s file s; cat {place}/secret"
    (place / "secret").write_text("")
    (place / "secret").chmod(0o600)
    ended = subprocess.run(
        words(place, *account, "sh", "-c", script), check=False, capture_output=True, text=True
    )
    until(lambda: not list_servers(place))
    assert "Permission denied" in ended.stderr
    for name in ("file", "d", "s"):
        made = (place / name).lstat()
        assert (made.st_uid, made.st_gid) == (60578, 60578), name
    shutil.rmtree(enterable_scratch / "trace")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives up root")
def test_it_needs_no_root(enterable_scratch: Path) -> None:
    user, account = 60578, ("setpriv", "--reuid=60578", "--regid=60578", "--clear-groups")
    if (
        not Path("/dev/fuse").stat().st_mode & 0o006
    ):  # as it is without udev: then root, with no right to mount
        user, account = 0, ("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")
    place = enterable_scratch / "mine"
    for path in (place, place / "data", place / "trace"):
        path.mkdir(mode=0o700)
        os.chown(path, user, user)
    program = shutil.copy(find_recorder("fuse"), enterable_scratch / "passthrough")
    os.chmod(program, 0o755)  # noqa: PTH101
    before = write_passthrough([str(program)], "fuse", str(place / "trace"), [str(place / "data")])
    script = f"echo x > {place}/data/file; id -u"
    ended = subprocess.run(
        [*account, *before, "sh", "-c", script], check=False, capture_output=True, text=True
    )
    assert ended.stdout == f"{user}\n", ended.stderr
    until(lambda: not list_servers(place / "data"))
    assert (place / "data" / "file").stat().st_uid == user
    recorded = read_recorded(place, ended)
    assert recorded.on(place / "data" / "file", "pwrite")


MAPPED = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 8192)
mmap.mmap(file, 8192)[:5] = b"mine!"
os.close(file)
"""


def test_shared_memory_needs_the_cache(data: Path) -> None:
    refused = run_shown(data, *python(MAPPED, data / "file"), check=False)
    assert "No such device" in refused.ended.stderr
    run_shown(data, *python(MAPPED, data / "file"), way="fuse-cached")
    assert (data / "file").read_bytes()[:5] == b"mine!"


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system needs root")
def test_a_full_disk_ends_the_trace_and_not_the_program(data: Path) -> None:
    trace = data.parent / "trace"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=0700", "tmpfs", trace], check=True)
    try:
        recorded = run_shown(data, *python(TRANSFERS, data))
        (lost,) = {segment.unseen["lost"] for segment in recorded.segments}
        assert lost > 50
        assert (data / "two").stat().st_size == sum(4096 + turn for turn in range(100))
    finally:
        subprocess.run(["umount", "-l", trace], check=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--", "true"], "needs --over DIRECTORY"),
        (["--over", "/nowhere", "--", "true"], "/nowhere: No such file or directory"),
        (["--over", "/tmp", "--into", "/nowhere", "--", "true"], "/nowhere: "),
        (["--over", "/tmp", "--", "/no/program"], "/no/program: "),
        (["--what"], "--what is not known"),
    ],
)
def test_what_cannot_be_is_said(passthrough: Path, given: list[str], said: str) -> None:
    ended = subprocess.run([passthrough, *given], check=False, capture_output=True, text=True)
    assert ended.returncode == 125
    assert said in ended.stderr
