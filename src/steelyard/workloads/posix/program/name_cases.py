"""Cases of link(2), symlink(2) and readlink(2)."""

import errno
import os
import stat

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    make_link,
    mode_bits,
    open_file,
    read_content,
)

LINK = CaseGroup("link")


SYMLINK = CaseGroup("symlink")


@LINK.case()
def link_file(who: Actor) -> None:
    """POSIX link: both names are the same file, whose link count is 2."""
    os.link(make_file("file", b"abc"), "other")
    first, second = os.stat("file"), os.stat("other")
    expect_equal("inodes", second.st_ino, first.st_ino)
    expect_equal("link counts", (first.st_nlink, second.st_nlink), (2, 2))


@LINK.case()
def write_through_link(who: Actor) -> None:
    """POSIX link: what is written and changed by one name is seen by the other."""
    os.link(make_file("file", b"abc"), "other")
    os.chmod("other", 0o600)
    os.write(open_file("other", os.O_WRONLY | os.O_APPEND), b"def")
    expect_equal("content and mode", (read_content("file"), mode_bits("file")), (b"abcdef", 0o600))


@LINK.case()
def link_many(who: Actor) -> None:
    """POSIX link: a file can have at least eight names (_POSIX_LINK_MAX), and counts them."""
    make_file("file")
    for number in range(7):
        os.link("file", "link{}".format(number))
    expect_equal("link count", os.stat("link3").st_nlink, 8)


@LINK.case()
def link_across_directories(who: Actor) -> None:
    """POSIX link: a name in another directory of the same file system is possible."""
    make_directory("dir")
    os.link(make_file("file", b"abc"), "dir/other")
    expect_equal("content", read_content("dir/other"), b"abc")


@LINK.case()
def link_over_file(who: Actor) -> None:
    """POSIX link: a new name that exists is EEXIST, and stays what it was."""
    make_file("file", b"abc")
    make_file("other", b"old")
    expect_error(errno.EEXIST, os.link, "file", "other")
    expect_equal("content", read_content("other"), b"old")


@LINK.case()
def link_over_dangling_link(who: Actor) -> None:
    """POSIX link: a new name that is a symbolic link, even to nothing, is EEXIST."""
    make_link("nothing", "link")
    expect_error(errno.EEXIST, os.link, make_file("file"), "link")


@LINK.case()
def link_missing(who: Actor) -> None:
    """POSIX link: a missing file, or a missing directory of the new name, is ENOENT."""
    expect_error(errno.ENOENT, os.link, "nothing", "other")
    expect_error(errno.ENOENT, os.link, make_file("file"), "nothing/other")


@LINK.case()
def link_directory(who: Actor) -> None:
    """POSIX link, link(2): a directory is EPERM, for root too."""
    expect_error(errno.EPERM, os.link, make_directory("dir"), "other")


@LINK.case()
def link_beneath_file(who: Actor) -> None:
    """POSIX link: a file in the place of a directory is ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOTDIR, os.link, "file", "file/other")
    expect_error(errno.ENOTDIR, os.link, "file/x", "other")


@LINK.case()
def link_symbolic_link(who: Actor) -> None:
    """POSIX linkat: without AT_SYMLINK_FOLLOW the new name is the symbolic link itself."""
    make_link(make_file("file"), "link")
    os.link("link", "other", follow_symlinks=False)
    expect_true("a symbolic link", os.path.islink("other"))
    expect_equal("link count of the file", os.stat("file").st_nlink, 1)


@LINK.case()
def link_followed(who: Actor) -> None:
    """POSIX linkat: with AT_SYMLINK_FOLLOW the new name is the target's."""
    make_link(make_file("file", b"abc"), "link")
    here = open_file(".", os.O_RDONLY | os.O_DIRECTORY)
    os.link("link", "other", src_dir_fd=here, dst_dir_fd=here, follow_symlinks=True)
    expect_true("a regular file", stat.S_ISREG(os.lstat("other").st_mode))
    expect_equal("link count of the file", os.stat("file").st_nlink, 2)


@LINK.case()
def keep_linked_file(who: Actor) -> None:
    """POSIX unlink: a file lives on under its other names, and counts one fewer."""
    os.link(make_file("file", b"abc"), "other")
    os.unlink("file")
    expect_equal("content", read_content("other"), b"abc")
    expect_equal("link count", os.stat("other").st_nlink, 1)


@SYMLINK.case()
def make_symbolic_link(who: Actor) -> None:
    """POSIX symlink, readlink: the text comes back as it was given, and need not name anything."""
    for number, text in enumerate(
        ("nothing", os.path.join(os.pardir, "a", "", ".", "c"), "with space\tand tab", "x" * 255)
    ):
        name = make_link(text, "link{}".format(number))
        expect_equal("text", os.readlink(name), text)


@SYMLINK.case()
def measure_symbolic_link(who: Actor) -> None:
    """POSIX lstat: st_size of a symbolic link is the length of its text."""
    make_link("0123456789", "link")
    status = os.lstat("link")
    expect_true("a symbolic link", stat.S_ISLNK(status.st_mode), oct(status.st_mode))
    expect_equal("size", status.st_size, 10)


@SYMLINK.case()
def hold_long_link(who: Actor) -> None:
    """POSIX symlink: a text of 1023 bytes is kept (_POSIX_SYMLINK_MAX is 255; PATH_MAX is 4096 on Linux)."""
    text = "abcdefgh" * 127 + "abcdefg"
    expect_equal("text", os.readlink(make_link(text, "link")), text)


@SYMLINK.case()
def refuse_overlong_link(who: Actor) -> None:
    """POSIX symlink: a text longer than SYMLINK_MAX is ENAMETOOLONG."""
    expect_error(errno.ENAMETOOLONG, os.symlink, "x" * 5000, "link")


@SYMLINK.case()
def refuse_empty_link(who: Actor) -> None:
    """symlink(2): an empty text is ENOENT."""
    expect_error(errno.ENOENT, os.symlink, "", "link")


@SYMLINK.case()
def link_over_existing(who: Actor) -> None:
    """POSIX symlink: a name that exists, even as a link to nothing, is EEXIST."""
    make_link("nothing", "link")
    expect_error(errno.EEXIST, os.symlink, "a", make_file("file"))
    expect_error(errno.EEXIST, os.symlink, "a", make_directory("dir"))
    expect_error(errno.EEXIST, os.symlink, "a", "link")


@SYMLINK.case()
def link_in_missing_directory(who: Actor) -> None:
    """POSIX symlink: a missing directory is ENOENT, a file in its place ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOENT, os.symlink, "a", "nothing/link")
    expect_error(errno.ENOTDIR, os.symlink, "a", "file/link")


@SYMLINK.case()
def read_no_link(who: Actor) -> None:
    """POSIX readlink: what is no symbolic link is EINVAL, a missing one ENOENT."""
    expect_error(errno.EINVAL, os.readlink, make_file("file"))
    expect_error(errno.EINVAL, os.readlink, make_directory("dir"))
    expect_error(errno.ENOENT, os.readlink, "nothing")


@SYMLINK.case()
def follow_relative_link(who: Actor) -> None:
    """POSIX path resolution: a relative text starts at the link's directory."""
    make_directory("dir")
    make_file("dir/file", b"abc")
    make_link("file", "dir/link")
    expect_equal("content", read_content("dir/link"), b"abc")


@SYMLINK.case()
def follow_link_to_directory(who: Actor) -> None:
    """POSIX path resolution: a link stands for its directory; lstat of `link/` is the directory's."""
    make_directory("dir")
    make_file("dir/file", b"abc")
    make_link("dir", "link")
    expect_equal("content", read_content("link/file"), b"abc")
    expect_true("a directory", stat.S_ISDIR(os.lstat("link/").st_mode))
