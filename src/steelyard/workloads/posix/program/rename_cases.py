"""Cases of rename(2) and renameat2(2)."""

import errno
import os

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    Unsupported,
    call_in_child,
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
from steelyard.workloads.posix.program.libc import RENAME_EXCHANGE, RENAME_NOREPLACE, rename_with_flags

RENAME = CaseGroup("rename")


@RENAME.case()
def rename_file(who: Actor) -> None:
    """POSIX rename: the file is under the new name, the same file, and the old name is gone."""
    inode = os.stat(make_file("file", b"abc")).st_ino
    os.rename("file", "new")
    expect_equal("inode, content", (os.stat("new").st_ino, read_content("new")), (inode, b"abc"))
    expect_true("the old name is gone", not exists("file"))


@RENAME.case()
def rename_over_file(who: Actor) -> None:
    """POSIX rename: an existing file of the new name is replaced."""
    make_file("file", b"new")
    make_file("target", b"old")
    os.rename("file", "target")
    expect_equal("content", read_content("target"), b"new")
    expect_equal("entries", os.listdir("."), ["target"])


@RENAME.case()
def replace_open_file(who: Actor) -> None:
    """POSIX rename: who has the replaced file open goes on reading it."""
    number = open_file(make_file("target", b"old"), os.O_RDONLY)
    os.rename(make_file("file", b"new"), "target")
    expect_equal("content", os.pread(number, 9, 0), b"old")
    expect_equal("link count", os.fstat(number).st_nlink, 0)


@RENAME.case()
def rename_open_file(who: Actor) -> None:
    """POSIX rename: descriptors of the renamed file stay good."""
    number = open_file(make_file("file", b"abc"))
    os.rename("file", "new")
    os.pwrite(number, b"def", 3)
    expect_equal("content", read_content("new"), b"abcdef")


@RENAME.case()
def replace_atomically(who: Actor) -> None:
    """POSIX rename: while a file is replaced over and over, its name is there for others at any time."""
    make_file("target", b"0")

    def replace_often() -> int:
        for number in range(100):
            os.rename(make_file("next{}".format(number), b"1"), "target")
        return 0

    child = os.fork()
    if not child:
        try:
            replace_often()
        finally:
            os._exit(0)
    missing = 0
    while not os.waitpid(child, os.WNOHANG)[0]:
        missing += not exists("target")
    expect_equal("times that the name was missing", missing, 0)


@RENAME.case()
def rename_to_itself(who: Actor) -> None:
    """POSIX rename: the same old and new name is no error and changes nothing."""
    os.rename(make_file("file", b"abc"), "file")
    expect_equal("content", read_content("file"), b"abc")


@RENAME.case()
def rename_to_other_link(who: Actor) -> None:
    """POSIX rename: where both names are links to the same file, nothing happens."""
    os.link(make_file("file", b"abc"), "other")
    os.rename("file", "other")
    expect_equal("entries", sorted(os.listdir(".")), ["file", "other"])


@RENAME.case()
def rename_missing(who: Actor) -> None:
    """POSIX rename: a missing old name, a missing new directory and an empty name are ENOENT."""
    make_file("file")
    expect_error(errno.ENOENT, os.rename, "nothing", "new")
    expect_error(errno.ENOENT, os.rename, "file", "nothing/new")
    expect_error(errno.ENOENT, os.rename, "file", "")
    expect_error(errno.ENOENT, os.rename, "", "new")


@RENAME.case()
def rename_beneath_file(who: Actor) -> None:
    """POSIX rename: a file in the place of a directory is ENOTDIR."""
    make_file("file")
    make_file("other")
    expect_error(errno.ENOTDIR, os.rename, "other", "file/new")
    expect_error(errno.ENOTDIR, os.rename, "file/x", "new")


@RENAME.case()
def rename_directory(who: Actor) -> None:
    """POSIX rename: a directory takes its content along."""
    make_directory("dir")
    make_file("dir/file", b"abc")
    os.rename("dir", "new")
    expect_equal("content", read_content("new/file"), b"abc")


@RENAME.case()
def rename_over_empty_directory(who: Actor) -> None:
    """POSIX rename: a directory may replace an empty one."""
    make_directory("dir")
    make_file("dir/file", b"abc")
    os.rename("dir", make_directory("target"))
    expect_equal("entries", (os.listdir("."), os.listdir("target")), (["target"], ["file"]))


@RENAME.case()
def rename_over_full_directory(who: Actor) -> None:
    """POSIX rename: a new name that is a directory with entries is EEXIST or ENOTEMPTY."""
    make_directory("dir")
    make_directory("target")
    make_file("target/file")
    expect_error((errno.EEXIST, errno.ENOTEMPTY), os.rename, "dir", "target")
    expect_true("both are left", exists("dir") and exists("target/file"))


@RENAME.case()
def rename_file_over_directory(who: Actor) -> None:
    """POSIX rename: a file onto a directory is EISDIR."""
    expect_error(errno.EISDIR, os.rename, make_file("file"), make_directory("dir"))


@RENAME.case()
def rename_directory_over_file(who: Actor) -> None:
    """POSIX rename: a directory onto a file is ENOTDIR."""
    expect_error(errno.ENOTDIR, os.rename, make_directory("dir"), make_file("file"))


@RENAME.case()
def rename_into_itself(who: Actor) -> None:
    """POSIX rename: a directory into its own subtree is EINVAL."""
    make_directory("dir")
    make_directory("dir/sub")
    expect_error(errno.EINVAL, os.rename, "dir", "dir/new")
    expect_error(errno.EINVAL, os.rename, "dir", "dir/sub/new")
    expect_true("it is where it was", os.path.isdir("dir/sub"))


@RENAME.case()
def rename_dot(who: Actor) -> None:
    """POSIX rename: `.` and `..` are EINVAL or EBUSY."""
    make_directory("dir")
    expect_error((errno.EINVAL, errno.EBUSY), os.rename, "dir/.", "new")
    expect_error((errno.EINVAL, errno.EBUSY), os.rename, "dir/..", "new")


@RENAME.case()
def rename_symbolic_link(who: Actor) -> None:
    """POSIX rename: an old name that is a symbolic link is renamed itself."""
    make_link(make_file("file"), "link")
    os.rename("link", "new")
    expect_equal("text", os.readlink("new"), "file")
    expect_true("the target is left", exists("file"))


@RENAME.case()
def rename_over_symbolic_link(who: Actor) -> None:
    """POSIX rename: a new name that is a symbolic link is replaced itself, not its target."""
    make_link(make_file("target", b"old"), "link")
    os.rename(make_file("file", b"new"), "link")
    expect_true("no symbolic link is left", not os.path.islink("link"))
    expect_equal("content of the target", read_content("target"), b"old")


@RENAME.case()
def rename_across_directories(who: Actor) -> None:
    """POSIX rename: a file goes to another directory."""
    make_directory("from")
    make_directory("to")
    os.rename(make_file("from/file", b"abc"), "to/file")
    expect_equal("entries", (os.listdir("from"), os.listdir("to")), ([], ["file"]))


@RENAME.case()
def move_directory(who: Actor) -> None:
    """POSIX rename: `..` of a directory that moved is its new parent; parents' link counts follow."""
    make_directory("from")
    make_directory("from/dir")
    make_directory("to")
    links = os.stat("to").st_nlink
    os.rename("from/dir", "to/dir")
    expect_equal("inode of ..", os.stat("to/dir/..").st_ino, os.stat("to").st_ino)
    if links == 2:  # where directories count their subdirectories
        expect_equal("links", (os.stat("from").st_nlink, os.stat("to").st_nlink), (2, 3))


@RENAME.case()
def see_rename_of_other_process(who: Actor) -> None:
    """POSIX rename: what another process renamed is seen at once."""
    make_file("file", b"abc")
    os.stat("file")
    call_in_child(lambda: os.rename("file", "new"))
    expect_true("the old name is gone", not exists("file"))
    expect_equal("content", read_content("new"), b"abc")


def try_flag(old: str, new: str, flag: int) -> None:
    """renameat2(2). Raises Unsupported for EINVAL, by which a system says that it does not know the flag."""
    try:
        rename_with_flags(old, new, flag)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Unsupported("renameat2 with a flag is EINVAL") from error
        raise


@RENAME.case(optional=True)
def rename_without_replacing(who: Actor) -> None:
    """rename(2): RENAME_NOREPLACE onto an existing name is EEXIST."""
    make_file("file", b"new")
    make_file("target", b"old")
    try_flag("file", "free", RENAME_NOREPLACE)
    expect_error(errno.EEXIST, rename_with_flags, "free", "target", RENAME_NOREPLACE)
    expect_equal("content", read_content("target"), b"old")


@RENAME.case(optional=True)
def exchange_names(who: Actor) -> None:
    """rename(2): RENAME_EXCHANGE swaps a file and a directory."""
    make_file("one", b"abc")
    make_directory("two")
    try_flag("one", "two", RENAME_EXCHANGE)
    expect_true("one is the directory", os.path.isdir("one"))
    expect_equal("content of two", read_content("two"), b"abc")
