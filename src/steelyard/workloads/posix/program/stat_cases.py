"""Cases of stat(2) and statvfs(3)."""

import errno
import os
import stat

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    call_in_child,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    make_link,
    open_file,
)

STAT = CaseGroup("stat")


@STAT.case()
def count_bytes(who: Actor) -> None:
    """POSIX stat: st_size is the number of bytes, st_blksize is positive, st_nlink 1."""
    status = os.stat(make_file("file", b"x" * 12345))
    expect_equal("size, links", (status.st_size, status.st_nlink), (12345, 1))
    expect_true("a block size", status.st_blksize > 0, status.st_blksize)


@STAT.case()
def count_blocks(who: Actor) -> None:
    """stat(2): data of 1 MiB that cannot be compressed takes blocks of 512 bytes once it is written out."""
    number = open_file("file")
    os.write(number, os.urandom(1 << 20))
    os.fsync(number)
    blocks = os.fstat(number).st_blocks
    expect_true("512-byte blocks of 1 MiB", 1024 <= blocks <= 8192, blocks)


@STAT.case()
def count_blocks_of_hole(who: Actor) -> None:
    """stat(2): a hole takes no blocks, where a file system has holes at all."""
    number = open_file("file")
    os.ftruncate(number, 64 << 20)
    os.fsync(number)
    blocks = os.fstat(number).st_blocks
    expect_true("fewer blocks than bytes", blocks * 512 < 64 << 20, blocks)


@STAT.case()
def keep_inode(who: Actor) -> None:
    """POSIX stat: the serial number stays the same over writes, renames and changes of mode."""
    inode = os.stat(make_file("file", b"abc")).st_ino
    os.chmod("file", 0o600)
    os.rename("file", "new")
    os.write(open_file("new", os.O_WRONLY | os.O_APPEND), b"x")
    here = os.stat("new")
    expect_equal("inodes", (here.st_ino, call_in_child(lambda: os.stat("new").st_ino)), (inode, inode))


@STAT.case()
def tell_files_apart(who: Actor) -> None:
    """POSIX stat: different files have different serial numbers on the same device."""
    statuses = [os.stat(make_file("file{}".format(number))) for number in range(200)]
    expect_equal("serial numbers", len({status.st_ino for status in statuses}), 200)
    expect_equal("devices", len({status.st_dev for status in statuses}), 1)


@STAT.case()
def tell_types(who: Actor) -> None:
    """POSIX stat: the type of each kind of file."""
    os.mkfifo("fifo")
    os.mknod("socket", stat.S_IFSOCK | 0o600)
    names = [make_file("file"), make_directory("dir"), make_link("file", "link"), "fifo", "socket"]
    types = [stat.S_IFMT(os.lstat(name).st_mode) for name in names]
    expect_equal("types", types, [stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFIFO, stat.S_IFSOCK])


@STAT.case()
def agree_by_name_and_descriptor(who: Actor) -> None:
    """POSIX fstat: an open file looks the same by its descriptor and by its name."""
    number = open_file(make_file("file", b"abc"))
    os.write(number, b"defgh")
    by_name, by_number = os.stat("file"), os.fstat(number)
    expect_equal("status", tuple(by_name)[:7], tuple(by_number)[:7])
    expect_equal(
        "mtime, ctime",
        (by_name.st_mtime_ns, by_name.st_ctime_ns),
        (by_number.st_mtime_ns, by_number.st_ctime_ns),
    )


@STAT.case()
def describe_file_system(who: Actor) -> None:
    """POSIX statvfs: sizes are consistent, and names of at least 14 bytes (_POSIX_NAME_MAX) are allowed."""
    status = os.statvfs(".")
    expect_true("block sizes", status.f_bsize > 0 and status.f_frsize > 0, status)
    expect_true("free <= all blocks", status.f_bavail <= status.f_bfree <= status.f_blocks, status)
    expect_true("longest name", status.f_namemax >= 14, status.f_namemax)


@STAT.case()
def stat_missing(who: Actor) -> None:
    """POSIX stat: a missing file, an empty path and a dangling link are ENOENT, beneath a file ENOTDIR."""
    make_link("nothing", "link")
    make_file("file")
    for name in ("nothing", "", "link"):
        expect_error(errno.ENOENT, os.stat, name)
    expect_error(errno.ENOTDIR, os.stat, "file/x")
