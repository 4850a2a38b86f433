"""Cases of readdir(3) and its kin."""

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
)
from steelyard.workloads.posix.program.libc import DirectoryStream

READDIR = CaseGroup("readdir")


MANY = 1000  # entries of a large directory


@READDIR.case()
def list_entries(who: Actor) -> None:
    """POSIX readdir: every entry is given once, `.` and `..` with them."""
    make_directory("dir")
    names = [make_file("dir/file{}".format(number))[4:] for number in range(10)]
    expect_equal("names", sorted(DirectoryStream("dir").read_all()), sorted([*names, ".", ".."]))


@READDIR.case()
def list_large_directory(who: Actor) -> None:
    """POSIX readdir: each of 1000 entries is given exactly once."""
    make_directory("dir")
    for number in range(MANY):
        os.mknod("dir/a-file-with-a-longer-name-{}".format(number))
    names = os.listdir("dir")
    expect_equal("entries, distinct ones", (len(names), len(set(names))), (MANY, MANY))


@READDIR.case()
def remove_while_listing(who: Actor) -> None:
    """POSIX readdir: entries that stay are given once, although each listed file is removed meanwhile."""
    make_directory("dir")
    for number in range(MANY):
        os.mknod("dir/{}".format(number))
    seen = []
    with os.scandir("dir") as entries:
        for entry in entries:
            seen.append(entry.name)
            os.unlink(entry.path)
    expect_equal("distinct entries given", len(set(seen)), MANY)
    expect_equal("entries left", os.listdir("dir"), [])


@READDIR.case()
def create_while_listing(who: Actor) -> None:
    """POSIX readdir: entries made meanwhile may be given or not; the others are given exactly once."""
    make_directory("dir")
    old = {make_file("dir/old{}".format(number))[4:] for number in range(500)}
    stream = DirectoryStream("dir")
    names = [stream.read()]
    for number in range(500):
        make_file("dir/new{}".format(number))
    names += stream.read_all()
    expect_equal("old entries given", sorted(str(each) for each in names if each in old), sorted(old))
    expect_equal("entries given twice", len(names) - len(set(names)), 0)


@READDIR.case()
def rewind_listing(who: Actor) -> None:
    """POSIX rewinddir: a second pass shows what was created after the first."""
    make_directory("dir")
    stream = DirectoryStream("dir")
    stream.read_all()
    make_file("dir/new")
    stream.rewind()
    expect_true("the new entry is given", "new" in stream.read_all())


@READDIR.case()
def seek_in_listing(who: Actor) -> None:
    """POSIX telldir, seekdir: going back to a position gives the same entries again."""
    make_directory("dir")
    for number in range(300):
        make_file("dir/file{}".format(number))
    stream = DirectoryStream("dir")
    for _ in range(100):
        stream.read()
    position = stream.tell()
    rest = stream.read_all()
    stream.seek(position)
    expect_equal("entries again", stream.read_all(), rest)


@READDIR.case()
def agree_about_inodes(who: Actor) -> None:
    """POSIX readdir: d_ino is the serial number that stat gives, d_type the type or unknown."""
    make_directory("dir")
    make_file("dir/file")
    make_directory("dir/sub")
    make_link("nothing", "dir/link")
    with os.scandir("dir") as entries:
        for entry in entries:
            status = os.lstat(entry.path)
            expect_equal("inode of " + entry.name, entry.inode(), status.st_ino)
            expect_equal("a directory", entry.is_dir(follow_symlinks=False), stat.S_ISDIR(status.st_mode))
            expect_equal("a symbolic link", entry.is_symlink(), stat.S_ISLNK(status.st_mode))


@READDIR.case()
def see_entries_of_other_process(who: Actor) -> None:
    """POSIX readdir: a listing that is opened afterwards shows what another process created."""
    make_directory("dir")
    expect_equal("entries before", os.listdir("dir"), [])
    call_in_child(lambda: make_file("dir/new"))
    expect_equal("entries after", os.listdir("dir"), ["new"])


@READDIR.case()
def list_no_directory(who: Actor) -> None:
    """POSIX opendir: a file is ENOTDIR, a missing name ENOENT."""
    expect_error(errno.ENOTDIR, DirectoryStream, make_file("file"))
    expect_error(errno.ENOENT, DirectoryStream, "nothing")
