"""The recorder's library under real programs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from patience import until
from recorded_programs import compile_program, python, read_recorded, require_library, run_recorded
from steelyard.hosts.capturing import preload_variables

SQLITE = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1])
base.execute("CREATE TABLE t (a, b)")
for turn in range(20):
    base.executemany("INSERT INTO t VALUES (?, ?)", ((n, "x" * 100) for n in range(200)))
    base.commit()
assert base.execute("SELECT count(*) FROM t").fetchone() == (4000,)
base.close()
"""
ROOT = Path(__file__).parents[2]
_SAID = re.compile(r"(pread64|pwrite64|read|write|fdatasync|fsync)\(\d+<([^>]*)>.*= (\d+)")
_NAMES = {"pread64": "pread", "pwrite64": "pwrite"}


def count_by_strace(path: Path, *argv: str) -> Counter[tuple[str, int]]:
    """Which calls succeeded on a file, by its name, with their results: as the kernel was asked."""
    calls = "trace=read,write,pread64,pwrite64,fdatasync,fsync"
    said = subprocess.run(
        ["strace", "-f", "-y", "-e", calls, *argv], check=True, capture_output=True, text=True
    )
    found = _SAID.findall(said.stderr)
    return Counter((_NAMES.get(call, call), int(result)) for call, name, result in found if name == str(path))


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_database_s_calls_are_those_that_the_kernel_is_asked(tmp_path: Path) -> None:
    there, here = tmp_path / "there.db", tmp_path / "here.db"
    recorded = run_recorded(tmp_path, *python(SQLITE, here))
    kinds = ("read", "write", "pread", "pwrite", "fdatasync", "fsync")
    ours = Counter((row["call"], row["result"]) for row in recorded.on(here, *kinds))
    assert ours == count_by_strace(there, *python(SQLITE, there))
    assert sum(count for (call, _), count in ours.items() if call == "pwrite") > 20
    assert not [segment for segment in recorded.segments if segment.torn or any(segment.unseen.values())]


CALLS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    char block[4096] = {1};
    int file = open(words[1], O_CREAT | O_RDWR, 0600);
    for (int turn = 0; turn < 100; turn++) pwrite(file, block, sizeof block, 4096L * turn);
    fsync(file);
    pread(file, block, 10, 5);
    read(file, block, 20);
    close(file);
    FILE *stream = fopen(words[1], "a");
    fputs("more", stream);
    fclose(stream);
    return rename(words[1], words[2]);
}
"""


@pytest.mark.skipif(
    not shutil.which("aarch64-linux-gnu-gcc") or not shutil.which("qemu-aarch64"),
    reason="a compiler for aarch64 or an emulator of it is not installed "
    "(apt: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)",
)
def test_it_records_on_aarch64(tmp_path: Path) -> None:
    """By an emulator, which does not empty a child's table as a kernel does: so there is one process."""
    library, trace, data = tmp_path / "recorder", tmp_path / "trace", tmp_path / "data"
    subprocess.run([ROOT / "scripts" / "build-recorder", "aarch64", library], check=True)
    program = compile_program(tmp_path, CALLS, compiler="aarch64-linux-gnu-gcc")
    trace.mkdir(mode=0o700)
    given = (f"{name}={value}" for name, value in preload_variables(library, trace).items())
    words = [
        "qemu-aarch64",
        "-L",
        "/usr/aarch64-linux-gnu",
        *(word for each in given for word in ("-E", each)),
    ]
    ended = subprocess.run(
        [*words, program, data, tmp_path / "renamed"], check=True, capture_output=True, text=True
    )
    recorded = read_recorded(tmp_path, ended)
    calls = [(row["call"], row["offset"], row["result"]) for row in recorded.on(data)]
    assert calls[0] == ("open", None, calls[0][2])
    assert calls[1:101] == [("pwrite", 4096 * turn, 4096) for turn in range(100)]
    assert [each[0] for each in calls[101:]] == [
        "fsync",
        "pread",
        "read",
        "close",
        "open",
        "write",
        "close",
        "rename",
    ]
    assert (calls[103], calls[106]) == (("read", 0, 20), ("write", 409_600, 4))
    assert [segment.torn for segment in recorded.segments] == [0]


def test_it_notes_the_core_that_a_process_is_bound_to(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    code = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execvp(sys.argv[2], sys.argv[2:])"
    bound = run_recorded(tmp_path, *python(code, cpu, "true"))
    free = None if len(os.sched_getaffinity(0)) > 1 else cpu
    assert [segment.cpu for segment in bound.segments] == [free, cpu]


LINKS = """
import os, sys
os.chdir(sys.argv[1])
for turn in range(2): os.close(os.open("now/x", os.O_RDONLY))
os.close(os.open("v7/x", os.O_RDONLY))
os.readlink("now")
os.symlink("v7", "next")
os.symlink("/v7", "deep/next")
os.close(os.open(".", os.O_RDWR | os.O_TMPFILE))
"""


def test_it_notes_where_links_lead(tmp_path: Path) -> None:
    place = tmp_path.resolve() / "place"
    for name in ("v7", "deep"):
        (place / name).mkdir(parents=True)
    (place / "v7" / "x").touch()
    (place / "now").symlink_to("v7")
    recorded = run_recorded(tmp_path, *python(LINKS, place))
    others = [(row["call"], row["path"], row["other"]) for row in recorded.rows if row["other"]]
    here = [each for each in others if each[1].startswith(str(place))]
    assert here == [
        ("resolved", f"{place}/now/x", f"{place}/v7/x"),
        ("readlink", f"{place}/now", f"{place}/v7"),
        ("symlink", f"{place}/next", f"{place}/v7"),
        ("symlink", f"{place}/deep/next", "/v7"),
    ]


STREAMS = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    FILE *file = fopen(words[1], "w");
    for (int i = 0; i < 3000; i++) fprintf(file, "line %d\n", i);
    for (int i = 0; i < 5000; i++) putc_unlocked('x', file);
    fwrite(words[0], 1, 3, file);
    fclose(file);
    file = fopen(words[1], "a");
    fputs("appended\n", file);
    fflush(file);
    fputs("more\n", file);
    fclose(file);
    file = fopen(words[1], "r+");
    char bytes[20000];
    size_t read = fread(bytes, 1, 10000, file);
    fseek(file, 40000 > read ? 0 : 0, SEEK_SET);
    while (getc(file) != EOF) ;
    fseek(file, 5, SEEK_SET);
    fputs("CHANGED", file);
    puts("to standard output");
    exit(0); /* with a stream that is not closed */
}
"""


def test_streams_tell_where_and_how_much(tmp_path: Path) -> None:
    program, data, out = compile_program(tmp_path, STREAMS), tmp_path / "data", tmp_path / "out"
    with out.open("w") as file:
        library, trace = require_library(), tmp_path / "trace"
        trace.mkdir()
        env = {**os.environ, **preload_variables(library, trace)}
        ended = subprocess.run([program, data], env=env, stdout=file, check=True, text=True, timeout=60)
    recorded = read_recorded(tmp_path, ended)
    size, content = data.stat().st_size, data.read_text()
    opens = recorded.on(data, "open")
    assert [(row["detail"] & os.O_ACCMODE, row["file_size"]) for row in opens[:2]] == [(1, 0), (1, size - 14)]
    writes = recorded.on(data, "write")
    assert sum(row["result"] for row in writes) == size + 7
    assert [(row["offset"], row["result"]) for row in writes[-3:]] == [(size - 14, 9), (size - 5, 5), (5, 7)]
    ends = [row["offset"] + row["result"] for row in writes[:-1]]
    assert [row["offset"] for row in writes[1:-1]] == ends[:-1], "one after the other"
    assert content[5:12] == "CHANGED"
    assert sum(row["result"] for row in recorded.on(data, "read")) >= size
    assert [row["result"] for row in recorded.on(out, "write")] == [19]
    assert all(row["stream"] for row in writes)


FAMILY = """
import os, subprocess, sys, threading
place = sys.argv[1]
def write(name):
    with open(f"{place}/{name}", "wb", buffering=0) as file:
        for turn in range(100):
            file.write(b"x" * 10)
threads = [threading.Thread(target=write, args=(f"thread{n}",)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if os.fork() == 0:
    write("forked")
    os._exit(0)
os.wait()
shared = os.open(f"{place}/shared", os.O_CREAT | os.O_WRONLY)
os.write(shared, b"12345")
subprocess.run(["sh", "-c", "printf abc; exec cat /dev/null"], stdout=shared)  # by vfork, and with our file
os.write(shared, b"678")
"""


def test_threads_children_and_programs_are_all_seen(tmp_path: Path) -> None:
    recorded = run_recorded(tmp_path, *python(FAMILY, tmp_path))
    for name in [*(f"thread{n}" for n in range(8)), "forked"]:
        rows = recorded.on(tmp_path / name, "write")
        assert [(row["offset"], row["result"]) for row in rows] == [(at, 10) for at in range(0, 1000, 10)]
        assert len({row["thread"] for row in rows}) == 1
    processes = {recorded.on(tmp_path / name, "write")[0]["process"] for name in ("thread0", "forked")}
    assert len(processes) == 2
    shared = recorded.on(tmp_path / "shared", "write")
    assert [(row["offset"], row["result"]) for row in shared[:2]] == [(0, 5), (5, 3)]
    assert shared[2]["result"] == 3
    assert (tmp_path / "shared").read_bytes() == b"12345abc678"
    assert {segment.arguments[0] for segment in recorded.segments} >= {"sh", "cat"}
    assert not sum(segment.torn for segment in recorded.segments)


BORROWED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    int before = open(words[1], O_CREAT | O_WRONLY, 0600);
    if (before < 0 || write(before, "12345", 5) != 5) return 1;
    if (vfork() == 0) {
        int out = open(words[2], O_CREAT | O_WRONLY, 0600);
        dup2(out, 1);
        close(before);
        execlp("echo", "echo", "hello", (char *)0);
        _exit(1);
    }
    wait(0);
    return write(before, "678", 3) != 3 || write(1, "x", 1) != 1;
}
"""


def test_a_child_of_vfork_opens_files_of_its_own_and_leaves_its_parent_s(tmp_path: Path) -> None:
    """It has its parent's memory until it becomes another program, but descriptors of its own."""
    program, before, out = compile_program(tmp_path, BORROWED), tmp_path / "before", tmp_path / "out"
    recorded = run_recorded(tmp_path, program, before, out)
    assert [(row["offset"], row["result"]) for row in recorded.on(before, "write")] == [(0, 5), (5, 3)]
    assert recorded.on(out, "open")[0]["detail"] & os.O_CREAT
    assert [row["result"] for row in recorded.on(out, "write")] == [6]
    assert out.read_text() == "hello\n"


def test_nothing_is_lost_when_the_program_is_killed(tmp_path: Path) -> None:
    data, trace = tmp_path / "data", tmp_path / "trace"
    trace.mkdir()
    code = "import os, sys; file = os.open(sys.argv[1], 65); [os.write(file, b'x') for _ in iter(int, 1)]"
    env = {**os.environ, **preload_variables(require_library(), trace)}
    with subprocess.Popen(python(code, data), env=env) as process:
        assert until(lambda: data.exists() and data.stat().st_size > 5000)
        process.kill()
    recorded = read_recorded(tmp_path, subprocess.CompletedProcess([], -signal.SIGKILL))
    written = sum(row["result"] for row in recorded.on(data, "write"))
    assert data.stat().st_size - 1 <= written <= data.stat().st_size, "one call may have been under way"


SIGNALS = r"""
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static int file;
static void handle(int number) { (void)number; if (write(file, "s", 1) != 1) _exit(1); }
int main(int count, char **words) {
    file = open(words[1], O_CREAT | O_WRONLY | O_APPEND, 0600);
    signal(SIGALRM, handle);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < 200000; i++) if (write(file, "m", 1) != 1) return 1;
}
"""


def test_what_a_signal_s_handler_writes_is_told_or_counted(tmp_path: Path) -> None:
    program, data = compile_program(tmp_path, SIGNALS), tmp_path / "data"
    recorded = run_recorded(tmp_path, program, data)
    told = len(recorded.on(data, "write"))
    assert told + sum(segment.unseen["lost"] for segment in recorded.segments) == data.stat().st_size
    assert told >= 200_000


STATIC = "int main(void) { return 0; }\n"


def test_what_cannot_be_seen_is_counted(tmp_path: Path) -> None:
    program = compile_program(tmp_path, STATIC, "-static")
    code = """
import ctypes, mmap, os, subprocess, sys
subprocess.run([sys.argv[1]], check=True)
subprocess.run(["true"], env={}, check=True)
libc = ctypes.CDLL(None)
libc.syscall(425, 8, ctypes.create_string_buffer(120))  # io_uring_setup
file = os.open(sys.argv[2], os.O_CREAT | os.O_RDWR)
os.truncate(file, 8192)
mmap.mmap(file, 8192)[5] = 1
"""
    recorded = run_recorded(tmp_path, *python(code, program, tmp_path / "data"))
    unseen = recorded.segments[0].unseen
    assert (unseen["unloaded"], unseen["io_uring"], unseen["mapped"]) == (2, 1, 8192)
    assert [row["size"] for row in recorded.on(tmp_path / "data", "mmap", "ftruncate")] == [8192, 8192]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_ends_the_trace_and_not_the_program(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "trace").mkdir()
    code = "import os, sys; f = os.open(sys.argv[1], 65); [os.write(f, b'x') for _ in range(20000)]"
    script = 'mount -t tmpfs -o size=256k none "$1" && shift && "$@" && cp "$STEELYARD_TRACE"/* "$KEPT"'
    kept = tmp_path / "kept" / "trace"
    kept.mkdir(parents=True)
    words = ("unshare", "-m", "sh", "-c", script, "sh", tmp_path / "trace", *python(code, data))
    ended = run_recorded(tmp_path, "env", f"KEPT={kept}", *words).ended
    assert data.stat().st_size == 20_000
    recorded = read_recorded(kept.parent, ended)
    lost = sum(segment.unseen["lost"] for segment in recorded.segments)
    assert lost > 10_000
    assert 0 <= 20_000 - len(recorded.on(data, "write")) <= lost


WAITING = """
import fcntl, os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
fcntl.flock(file, fcntl.LOCK_EX)
child = os.fork()
if child == 0:
    os.close(file)
    other = os.open(sys.argv[1], os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    os._exit(0)
while not any("->" in line and f" {child} " in line for line in open("/proc/locks")):
    time.sleep(0.01)
time.sleep(0.3)
os.close(file)
os.wait()
"""


def test_a_slow_call_takes_as_long_as_it_took(tmp_path: Path) -> None:
    began = time.monotonic()
    recorded = run_recorded(tmp_path, *python(WAITING, tmp_path / "lock"))
    took = max(row["duration"] for row in recorded.on(tmp_path / "lock", "flock")) / 1e9
    assert 0.3 <= took < time.monotonic() - began
