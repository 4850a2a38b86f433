"""Cases of mkdir(2) and rmdir(2)."""

import errno
import os
import stat

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    call_in_child,
    exists,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    make_link,
    mode_bits,
    open_file,
)

MKDIR = CaseGroup("mkdir")


RMDIR = CaseGroup("rmdir")


@MKDIR.case()
def make_empty_directory(who: Actor) -> None:
    """POSIX mkdir: a new directory has no entries but `.` and `..`, and belongs to the effective user."""
    make_directory("dir", 0o750)
    status = os.stat("dir")
    expect_true("a directory", stat.S_ISDIR(status.st_mode), oct(status.st_mode))
    expect_equal("mode, owner", (mode_bits("dir") & 0o777, status.st_uid), (0o750, who.uid))
    expect_equal("entries", os.listdir("dir"), [])


@MKDIR.case()
def make_directory_under_umask(who: Actor) -> None:
    """POSIX mkdir: bits of the umask are cleared in the mode."""
    os.umask(0o027)
    make_directory("dir", 0o777)
    expect_equal("mode", mode_bits("dir") & 0o777, 0o750)


@MKDIR.case()
def count_subdirectories(who: Actor) -> None:
    """inode(7): a directory's links are 2 and one for each subdirectory, or always 1 where nobody counts."""
    make_directory("dir")
    links = os.stat("dir").st_nlink
    make_directory("dir/a")
    make_directory("dir/b")
    more = os.stat("dir").st_nlink
    expect_true("2 then 4, or 1 then 1", (links, more) in ((2, 4), (1, 1)), (links, more))


@MKDIR.case()
def make_over_existing(who: Actor) -> None:
    """POSIX mkdir: a name that exists, a symbolic link to nothing too, is EEXIST."""
    make_link("nothing", "link")
    expect_error(errno.EEXIST, os.mkdir, make_directory("dir"))
    expect_error(errno.EEXIST, os.mkdir, make_file("file"))
    expect_error(errno.EEXIST, os.mkdir, "link")
    expect_error(errno.EEXIST, os.mkdir, ".")


@MKDIR.case()
def make_in_missing_directory(who: Actor) -> None:
    """POSIX mkdir: a missing parent and an empty name are ENOENT, a file as parent is ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOENT, os.mkdir, "nothing/dir")
    expect_error(errno.ENOENT, os.mkdir, "")
    expect_error(errno.ENOTDIR, os.mkdir, "file/dir")


@MKDIR.case()
def make_with_slash(who: Actor) -> None:
    """POSIX path resolution: slashes after the name of a new directory are allowed."""
    os.mkdir("dir" + os.sep * 2)
    expect_true("a directory", os.path.isdir("dir"))


@MKDIR.case()
def find_parent(who: Actor) -> None:
    """POSIX mkdir: `..` of a new directory is its parent, `.` is itself."""
    make_directory("dir")
    make_directory("dir/sub")
    inodes = os.stat("dir/sub/..").st_ino, os.stat("dir/sub/.").st_ino
    expect_equal("inodes", inodes, (os.stat("dir").st_ino, os.stat("dir/sub").st_ino))


@MKDIR.case()
def inherit_group(who: Actor) -> None:
    """mkdir(2): in a set-group-ID directory, directories get its group and that bit, files its group."""
    make_directory("dir")
    os.chmod("dir", 0o2755)
    make_directory("dir/sub")
    make_file("dir/file")
    group = os.stat("dir").st_gid
    expect_equal("groups", (os.stat("dir/sub").st_gid, os.stat("dir/file").st_gid), (group, group))
    expect_true("set-group-ID", bool(mode_bits("dir/sub") & stat.S_ISGID), oct(mode_bits("dir/sub")))


@MKDIR.case()
def make_once_in_a_race(who: Actor) -> None:
    """POSIX mkdir: a directory that another process made is EEXIST at once."""
    call_in_child(lambda: os.mkdir("dir"))
    expect_error(errno.EEXIST, os.mkdir, "dir")


@RMDIR.case()
def remove_empty_directory(who: Actor) -> None:
    """POSIX rmdir: an empty directory is removed; its parent counts one fewer link."""
    make_directory("dir")
    links = os.stat("dir").st_nlink
    os.rmdir(make_directory("dir/sub"))
    expect_true("it is gone", not exists("dir/sub"))
    expect_equal("links of the parent", os.stat("dir").st_nlink, links)


@RMDIR.case()
def remove_full_directory(who: Actor) -> None:
    """POSIX rmdir: a directory with an entry, even a link to nothing, is EEXIST or ENOTEMPTY."""
    make_directory("dir")
    make_link("nothing", "dir/link")
    expect_error((errno.EEXIST, errno.ENOTEMPTY), os.rmdir, "dir")
    os.unlink("dir/link")
    make_directory("dir/sub")
    expect_error((errno.EEXIST, errno.ENOTEMPTY), os.rmdir, "dir")


@RMDIR.case()
def remove_no_directory(who: Actor) -> None:
    """POSIX rmdir: a file and a symbolic link to a directory are ENOTDIR."""
    make_link(make_directory("dir"), "link")
    expect_error(errno.ENOTDIR, os.rmdir, make_file("file"))
    expect_error(errno.ENOTDIR, os.rmdir, "link")
    expect_error(errno.ENOTDIR, os.rmdir, "file/dir")


@RMDIR.case()
def remove_missing_directory(who: Actor) -> None:
    """POSIX rmdir: a missing name and the empty path are ENOENT."""
    expect_error(errno.ENOENT, os.rmdir, "nothing")
    expect_error(errno.ENOENT, os.rmdir, "nothing/dir")
    expect_error(errno.ENOENT, os.rmdir, "")


@RMDIR.case()
def remove_dot(who: Actor) -> None:
    """POSIX rmdir: a path that ends in `.` is EINVAL; in `..`, EEXIST, ENOTEMPTY or EINVAL."""
    make_directory("dir")
    make_directory("dir/sub")
    expect_error(errno.EINVAL, os.rmdir, "dir/.")
    expect_error((errno.EEXIST, errno.ENOTEMPTY, errno.EINVAL), os.rmdir, "dir/sub/..")


@RMDIR.case()
def create_in_removed_directory(who: Actor) -> None:
    """POSIX rmdir: in a removed directory that is still open, nothing can be created: ENOENT."""
    number = open_file(make_directory("dir"), os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir("dir")
    expect_error(errno.ENOENT, os.open, "file", os.O_CREAT | os.O_WRONLY, dir_fd=number)
    expect_error(errno.ENOENT, os.mkdir, "sub", dir_fd=number)


@RMDIR.case()
def empty_removed_directory(who: Actor) -> None:
    """POSIX rmdir: a removed directory that is still open has no entries left."""
    number = open_file(make_directory("dir"), os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir("dir")
    expect_equal("entries", os.listdir(number), [])
