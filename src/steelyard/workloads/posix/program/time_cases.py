"""Cases of utimensat(2) and of the rules by which time stamps change."""

import errno
import os
from typing import Callable

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    Unsupported,
    call_in_child,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    make_link,
    open_file,
    read_content,
    wait_for_clock,
)
from steelyard.workloads.posix.program.libc import UTIME_NOW, UTIME_OMIT, set_times

UTIMENS = CaseGroup("utimens")


TIMES = CaseGroup("times")


LONG_AGO = (1_000_000_000, 123_456_789)


BILLION = 1_000_000_000


@UTIMENS.case()
def set_nanoseconds(who: Actor) -> None:
    """POSIX utimensat: both stamps are kept, to the resolution of the file system (1 us or finer here)."""
    atime, mtime = 1_000_000_000_111_222_333, 1_100_000_000_444_555_666
    os.utime(make_file("file"), ns=(atime, mtime))
    status = os.stat("file")
    expect_equal("seconds", (int(status.st_atime), int(status.st_mtime)), (10**9, 11 * 10**8))
    expect_true("atime to 1 us", abs(status.st_atime_ns - atime) < 1000, status.st_atime_ns)
    expect_true("mtime to 1 us", abs(status.st_mtime_ns - mtime) < 1000, status.st_mtime_ns)


@UTIMENS.case()
def omit_a_time(who: Actor) -> None:
    """POSIX utimensat: UTIME_OMIT leaves that stamp."""
    os.utime(make_file("file"), (10**9, 10**9))
    set_times("file", (0, UTIME_OMIT), (2 * 10**9, 0))
    status = os.stat("file")
    expect_equal("stamps", (int(status.st_atime), int(status.st_mtime)), (10**9, 2 * 10**9))
    set_times("file", (15 * 10**8, 0), (0, UTIME_OMIT))
    status = os.stat("file")
    expect_equal("stamps", (int(status.st_atime), int(status.st_mtime)), (15 * 10**8, 2 * 10**9))


@UTIMENS.case()
def set_to_now(who: Actor) -> None:
    """POSIX utimensat: UTIME_NOW sets the current time of the file system."""
    make_file("file")
    os.utime("file", (10**9, 10**9))
    now = os.stat(make_file("other")).st_mtime_ns
    set_times("file", (0, UTIME_NOW), LONG_AGO)
    status = os.stat("file")
    expect_true("atime is now", abs(status.st_atime_ns - now) < 60 * BILLION, status.st_atime_ns - now)
    expect_equal("mtime", int(status.st_mtime), LONG_AGO[0])


@UTIMENS.case()
def set_both_to_now(who: Actor) -> None:
    """POSIX utimensat: without times, both become the current time."""
    make_file("file")
    os.utime("file", (10**9, 10**9))
    os.utime("file")
    status = os.stat("file")
    expect_true("atime and mtime agree", abs(status.st_atime_ns - status.st_mtime_ns) < BILLION)
    expect_true("they are later", status.st_mtime > 15 * 10**8, status.st_mtime)


@UTIMENS.case()
def refuse_too_many_nanoseconds(who: Actor) -> None:
    """POSIX utimensat: nanoseconds below 0 or from 10^9 on are EINVAL."""
    make_file("file")
    expect_error(errno.EINVAL, set_times, "file", (0, 10**9), (0, 0))
    expect_error(errno.EINVAL, set_times, "file", (0, 0), (0, -5))


@UTIMENS.case()
def set_times_of_link(who: Actor) -> None:
    """POSIX utimensat: with AT_SYMLINK_NOFOLLOW the stamps of the link itself change."""
    make_link(make_file("file"), "link")
    os.utime("file", (2 * 10**9, 2 * 10**9))
    os.utime("link", (10**9, 10**9), follow_symlinks=False)
    expect_equal(
        "mtimes", (int(os.lstat("link").st_mtime), int(os.stat("file").st_mtime)), (10**9, 2 * 10**9)
    )


@UTIMENS.case()
def set_times_of_directory(who: Actor) -> None:
    """POSIX utimensat: a directory keeps its stamps too."""
    os.utime(make_directory("dir"), (10**9, 11 * 10**8))
    expect_equal("mtime", int(os.stat("dir").st_mtime), 11 * 10**8)


@UTIMENS.case()
def set_times_of_descriptor(who: Actor) -> None:
    """POSIX futimens: as utimensat, by descriptor."""
    os.utime(open_file("file"), (10**9, 11 * 10**8))
    expect_equal("mtime", int(os.stat("file").st_mtime), 11 * 10**8)


@UTIMENS.case()
def set_times_of_missing(who: Actor) -> None:
    """POSIX utimensat: a missing file is ENOENT."""
    expect_error(errno.ENOENT, os.utime, "nothing", (1, 1))


@UTIMENS.case()
def set_times_before_1970_and_after_2038(who: Actor) -> None:
    """POSIX utimensat: times that 32 bits do not hold are kept (2100), as those before 1970 (or 1970)."""
    make_file("file")
    os.utime("file", (4_102_444_800, 4_102_444_800))
    expect_equal("mtime in 2100", int(os.stat("file").st_mtime), 4_102_444_800)
    os.utime("file", (-86400, -86400))
    expect_true(
        "mtime in 1969 or at 1970", int(os.stat("file").st_mtime) in (-86400, 0), os.stat("file").st_mtime
    )


@UTIMENS.case("root")
def set_times_of_others_file(who: Actor) -> None:
    """POSIX utimensat: who may write may set the current time, but no other: EPERM; without write, EACCES."""
    os.chmod(make_file("file"), 0o666)
    call_in_child(lambda: os.utime("file"), who, who.other_uid)
    expect_error(errno.EPERM, call_in_child, lambda: os.utime("file", (1, 1)), who, who.other_uid)
    os.chmod("file", 0o644)
    expect_error(errno.EACCES, call_in_child, lambda: os.utime("file"), who, who.other_uid)


def find_changes(name: str, act: "Callable[[], object]") -> "tuple[bool, bool]":
    """Whether an action changed mtime and ctime of a file to something later."""
    before = os.lstat(name)
    wait_for_clock(max(before.st_mtime_ns, before.st_ctime_ns))
    act()
    after = os.lstat(name)
    return after.st_mtime_ns > before.st_mtime_ns, after.st_ctime_ns > before.st_ctime_ns


@TIMES.case()
def mark_creation(who: Actor) -> None:
    """POSIX open: a new file has its stamps from now, and marks mtime and ctime of its directory."""
    make_directory("dir")
    changes = find_changes("dir", lambda: make_file("dir/file"))
    expect_equal("directory's mtime, ctime changed", changes, (True, True))
    expect_true(
        "not before the directory", os.stat("dir/file").st_mtime_ns >= os.stat("dir").st_mtime_ns - BILLION
    )


@TIMES.case()
def mark_write(who: Actor) -> None:
    """POSIX write: mtime and ctime are marked."""
    number = open_file(make_file("file", b"abc"), os.O_WRONLY)
    expect_equal("mtime, ctime changed", find_changes("file", lambda: os.write(number, b"x")), (True, True))


@TIMES.case()
def mark_truncate(who: Actor) -> None:
    """POSIX truncate, ftruncate: a change of size marks mtime and ctime."""
    number = open_file(make_file("file", b"abc"))
    expect_equal("by name", find_changes("file", lambda: os.truncate("file", 2)), (True, True))
    expect_equal("by descriptor", find_changes("file", lambda: os.ftruncate(number, 9)), (True, True))
    expect_equal(
        "O_TRUNC", find_changes("file", lambda: open_file("file", os.O_WRONLY | os.O_TRUNC)), (True, True)
    )


@TIMES.case()
def mark_chmod(who: Actor) -> None:
    """POSIX chmod: ctime is marked, mtime is not."""
    make_file("file")
    expect_equal("mtime, ctime changed", find_changes("file", lambda: os.chmod("file", 0o600)), (False, True))


@TIMES.case()
def mark_link(who: Actor) -> None:
    """POSIX link, unlink: the file's ctime is marked, and both stamps of the directory."""
    make_file("file")
    make_directory("dir")
    expect_equal("file", find_changes("file", lambda: os.link("file", "dir/a")), (False, True))
    expect_equal("directory", find_changes("dir", lambda: os.link("file", "dir/b")), (True, True))
    expect_equal("file, at unlink", find_changes("file", lambda: os.unlink("dir/a")), (False, True))
    expect_equal("directory, at unlink", find_changes("dir", lambda: os.unlink("dir/b")), (True, True))


@TIMES.case()
def mark_rename(who: Actor) -> None:
    """POSIX rename: mtime and ctime of both directories are marked; the file's mtime stays."""
    make_directory("from")
    make_directory("to")
    make_file("from/file")
    mtime = os.stat("from/file").st_mtime_ns
    expect_equal(
        "old directory", find_changes("from", lambda: os.rename("from/file", "to/file")), (True, True)
    )
    expect_equal("new directory", find_changes("to", lambda: os.rename(make_file("f"), "to/f")), (True, True))
    expect_equal("mtime of the file", os.stat("to/file").st_mtime_ns, mtime)


@TIMES.case()
def mark_mkdir(who: Actor) -> None:
    """POSIX mkdir, rmdir, symlink, mkfifo: mtime and ctime of the parent are marked."""
    make_directory("dir")
    acts = {
        "mkdir": lambda: os.mkdir("dir/sub"),
        "rmdir": lambda: os.rmdir("dir/sub"),
        "symlink": lambda: os.symlink("a", "dir/link"),
        "mkfifo": lambda: os.mkfifo("dir/fifo"),
    }
    for name, act in acts.items():
        expect_equal(name, find_changes("dir", act), (True, True))


@TIMES.case()
def mark_utimens(who: Actor) -> None:
    """POSIX utimensat: ctime is marked and cannot be set."""
    make_file("file")
    expect_equal("mtime, ctime later", find_changes("file", lambda: os.utime("file", (1, 1))), (False, True))


@TIMES.case()
def mark_nothing_on_failure(who: Actor) -> None:
    """POSIX open, mkdir: a call that fails marks no stamp of the directory."""
    make_directory("dir")
    make_file("dir/file")
    refused = find_changes("dir", lambda: expect_error(errno.EEXIST, os.mkdir, "dir/file"))
    expect_equal("mtime, ctime changed", refused, (False, False))


@TIMES.case()
def mark_nothing_by_reading(who: Actor) -> None:
    """POSIX read, stat: neither mtime nor ctime is marked by a read."""
    make_file("file", b"abc")
    expect_equal("mtime, ctime changed", find_changes("file", lambda: read_content("file")), (False, False))


@TIMES.case(optional=True)
def mark_read(who: Actor) -> None:
    """POSIX read: atime is marked, unless the mount says noatime; relatime marks one older than mtime."""
    if os.statvfs(".").f_flag & 1024:  # ST_NOATIME
        raise Unsupported("mounted with noatime")
    make_file("file", b"abc")
    os.utime("file", (10**9, 11 * 10**8))
    read_content("file")
    expect_true("atime is later", os.stat("file").st_atime > 10**9, os.stat("file").st_atime)


@TIMES.case()
def see_times_of_other_process(who: Actor) -> None:
    """POSIX stat: size and mtime after another process's write are seen at once."""
    make_file("file", b"abc")
    act = find_changes(
        "file", lambda: call_in_child(lambda: os.write(open_file("file", os.O_WRONLY | os.O_APPEND), b"x"))
    )
    expect_equal("mtime, ctime changed", act, (True, True))
    expect_equal("size", os.stat("file").st_size, 4)
