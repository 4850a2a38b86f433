"""Cases of unlink(2)."""

import errno
import os
import stat

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    exists,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    make_link,
    open_file,
    read_content,
)

UNLINK = CaseGroup("unlink")


@UNLINK.case()
def unlink_file(who: Actor) -> None:
    """POSIX unlink: the name is gone, and can be used again for another file."""
    os.unlink(make_file("file", b"abc"))
    expect_error(errno.ENOENT, os.stat, "file")
    expect_equal("content", read_content(make_file("file", b"new")), b"new")


@UNLINK.case()
def unlink_special_files(who: Actor) -> None:
    """POSIX unlink: FIFOs, sockets and symbolic links are removed themselves."""
    os.mkfifo("fifo")
    os.mknod("socket", stat.S_IFSOCK | 0o600)
    make_link(make_file("file"), "link")
    for name in ("fifo", "socket", "link"):
        os.unlink(name)
        expect_true(name + " is gone", not exists(name))
    expect_true("the link's target is left", exists("file"))


@UNLINK.case()
def unlink_directory(who: Actor) -> None:
    """POSIX unlink, unlink(2): a directory is EISDIR on Linux (POSIX: EPERM)."""
    expect_error((errno.EISDIR, errno.EPERM), os.unlink, make_directory("dir"))
    expect_true("the directory is left", os.path.isdir("dir"))


@UNLINK.case()
def unlink_missing(who: Actor) -> None:
    """POSIX unlink: a missing name and the empty path are ENOENT."""
    expect_error(errno.ENOENT, os.unlink, "nothing")
    expect_error(errno.ENOENT, os.unlink, "nothing/file")
    expect_error(errno.ENOENT, os.unlink, "")


@UNLINK.case()
def unlink_beneath_file(who: Actor) -> None:
    """POSIX unlink: a file in the place of a directory is ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOTDIR, os.unlink, "file/x")
    expect_error(errno.ENOTDIR, os.unlink, "file/")


@UNLINK.case()
def keep_open_file(who: Actor) -> None:
    """POSIX unlink: an open file can be read and written until it is closed; its link count is 0."""
    number = open_file(make_file("file", b"abc"))
    os.unlink("file")
    os.pwrite(number, b"def", 3)
    expect_equal("content", os.pread(number, 9, 0), b"abcdef")
    expect_equal("links, size", (os.fstat(number).st_nlink, os.fstat(number).st_size), (0, 6))


@UNLINK.case()
def leave_nothing_visible(who: Actor) -> None:
    """POSIX unlink: the directory of an unlinked open file is empty and can be removed."""
    make_directory("dir")
    number = open_file("dir/file")
    os.unlink("dir/file")
    expect_equal("entries", os.listdir("dir"), [])
    os.rmdir("dir")
    expect_equal("bytes written afterwards", os.write(number, b"abc"), 3)


@UNLINK.case()
def reuse_name_beside_open_file(who: Actor) -> None:
    """POSIX unlink: a new file under the old name is another one."""
    number = open_file(make_file("file", b"old"), os.O_RDONLY)
    os.unlink("file")
    make_file("file", b"new")
    expect_equal("old, new", (os.pread(number, 9, 0), read_content("file")), (b"old", b"new"))
    expect_true("inodes differ", os.fstat(number).st_ino != os.stat("file").st_ino)


@UNLINK.case()
def change_unlinked_file(who: Actor) -> None:
    """POSIX fchmod, ftruncate: an unlinked open file can be changed by its descriptor."""
    number = open_file(make_file("file", b"abc"))
    os.unlink("file")
    os.fchmod(number, 0o600)
    os.ftruncate(number, 1)
    expect_equal("mode", stat.S_IMODE(os.fstat(number).st_mode), 0o600)
    expect_equal("content", os.pread(number, 9, 0), b"a")
