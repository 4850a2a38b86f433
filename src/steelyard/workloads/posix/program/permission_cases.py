"""Cases of rights along a path."""

import errno
import os

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
    open_file,
    read_content,
)

PERMISSION = CaseGroup("permission")


@PERMISSION.case("user")
def refuse_unreadable_file(who: Actor) -> None:
    """POSIX open: without the right to read or to write, open is EACCES, for the owner too."""
    make_file("file", b"abc", 0o200)
    expect_error(errno.EACCES, open_file, "file", os.O_RDONLY)
    os.chmod("file", 0o400)
    expect_error(errno.EACCES, open_file, "file", os.O_WRONLY)
    expect_error(errno.EACCES, open_file, "file", os.O_RDWR)
    expect_error(errno.EACCES, open_file, "file", os.O_RDONLY | os.O_TRUNC)
    expect_equal("content", read_content("file"), b"abc")


@PERMISSION.case("user")
def refuse_truncate(who: Actor) -> None:
    """POSIX truncate: without the right to write, EACCES."""
    make_file("file", b"abc", 0o444)
    expect_error(errno.EACCES, os.truncate, "file", 0)


@PERMISSION.case("user")
def refuse_search(who: Actor) -> None:
    """POSIX: without the right to search a directory, every call beneath it is EACCES."""
    make_directory("dir")
    make_file("dir/file")
    os.chmod("dir", 0o600)
    for call in (os.stat, os.unlink, os.mkdir, os.rmdir, open_file, os.mkfifo, os.readlink):
        expect_error(errno.EACCES, call, "dir/file")
    expect_error(errno.EACCES, os.rename, "dir/file", "new")
    expect_error(errno.EACCES, os.link, "dir/file", "new")
    expect_error(errno.EACCES, os.symlink, "a", "dir/link")
    expect_error(errno.EACCES, os.chmod, "dir/file", 0o600)
    expect_error(errno.EACCES, os.truncate, "dir/file", 0)
    os.chmod("dir", 0o755)


@PERMISSION.case("user")
def refuse_change_of_directory(who: Actor) -> None:
    """POSIX: without the right to write to a directory, no entry is made, removed or renamed: EACCES."""
    make_directory("dir")
    make_file("dir/file")
    make_directory("dir/sub")
    os.chmod("dir", 0o555)
    for call in (os.mkdir, os.mkfifo, open_file):
        expect_error(errno.EACCES, call, "dir/new")
    expect_error(errno.EACCES, os.unlink, "dir/file")
    expect_error(errno.EACCES, os.rmdir, "dir/sub")
    expect_error(errno.EACCES, os.rename, "dir/file", "new")
    expect_error(errno.EACCES, os.link, "dir/file", "dir/new")
    expect_error(errno.EACCES, os.symlink, "a", "dir/link")
    open_file("dir/file", os.O_RDWR)
    os.chmod("dir", 0o755)


@PERMISSION.case("user")
def refuse_listing(who: Actor) -> None:
    """POSIX opendir: without the right to read a directory, EACCES; its entries can be used by name."""
    make_directory("dir")
    make_file("dir/file", b"abc")
    os.chmod("dir", 0o300)
    expect_error(errno.EACCES, os.listdir, "dir")
    expect_equal("content", read_content("dir/file"), b"abc")
    os.chmod("dir", 0o755)


@PERMISSION.case("root")
def pass_root(who: Actor) -> None:
    """path_resolution(7): root may read, write and search whatever the bits say."""
    make_directory("dir")
    make_file("dir/file", b"abc")
    os.chmod("dir", 0)
    os.chmod("dir/file", 0)
    expect_equal("content", read_content("dir/file"), b"abc")
    open_file("dir/file", os.O_WRONLY)


@PERMISSION.case("root")
def apply_class_of_other(who: Actor) -> None:
    """POSIX file access permissions: bits of `other` count for who is neither owner nor in the group."""
    make_file("file", b"abc")
    os.chmod("file", 0o770)
    expect_error(errno.EACCES, call_in_child, lambda: open_file("file", os.O_RDONLY), who, who.other_uid)
    os.chmod("file", 0o004)
    call_in_child(lambda: open_file("file", os.O_RDONLY), who, who.other_uid)


@PERMISSION.case("root")
def apply_class_of_group(who: Actor) -> None:
    """POSIX file access permissions: bits of the group count for its members, even against `other`'s."""
    make_file("file", b"abc")
    os.chown("file", 0, who.other_gid)
    os.chmod("file", 0o040)
    call_in_child(lambda: open_file("file", os.O_RDONLY), who, who.other_uid)
    os.chmod("file", 0o707)
    expect_error(errno.EACCES, call_in_child, lambda: open_file("file", os.O_RDONLY), who, who.other_uid)


@PERMISSION.case("root")
def protect_sticky_directory(who: Actor) -> None:
    """POSIX unlink, rename: in a sticky directory, another's file is neither removed nor renamed: EPERM."""
    make_directory("dir")
    os.chmod("dir", 0o1777)
    make_file("dir/file")
    make_directory("dir/sub")
    refused = (errno.EPERM, errno.EACCES)
    expect_error(refused, call_in_child, lambda: os.unlink("dir/file"), who, who.other_uid)
    expect_error(refused, call_in_child, lambda: os.rmdir("dir/sub"), who, who.other_uid)
    expect_error(refused, call_in_child, lambda: os.rename("dir/file", "dir/new"), who, who.other_uid)
    expect_true("the file is left", exists("dir/file"))
    call_in_child(lambda: os.unlink(make_file("dir/own")), who, who.other_uid)


@PERMISSION.case("root")
def replace_in_sticky_directory(who: Actor) -> None:
    """POSIX rename: in a sticky directory, another's file is not replaced: EPERM or EACCES."""
    make_directory("dir")
    os.chmod("dir", 0o1777)
    make_file("dir/file", b"abc")

    def replace() -> None:
        os.rename(make_file("dir/own"), "dir/file")

    expect_error((errno.EPERM, errno.EACCES), call_in_child, replace, who, who.other_uid)
    expect_equal("content", read_content("dir/file"), b"abc")


@PERMISSION.case("root")
def remove_from_open_directory(who: Actor) -> None:
    """POSIX unlink: in a directory that all may write, anybody removes anybody's file."""
    make_directory("dir")
    os.chmod("dir", 0o777)
    make_file("dir/file", b"", 0o600)
    call_in_child(lambda: os.unlink("dir/file"), who, who.other_uid)
    expect_true("the file is gone", not exists("dir/file"))


@PERMISSION.case("root")
def own_what_is_created(who: Actor) -> None:
    """POSIX open, mkdir, symlink: what a user creates belongs to that user."""
    make_directory("dir")
    os.chmod("dir", 0o777)
    calls = (make_file, make_directory, lambda name: make_link("a", name), os.mkfifo)
    for number, call in enumerate(calls):
        name = "dir/{}".format(number)
        call_in_child(lambda call=call, name=name: call(name), who, who.other_uid)  # type: ignore[misc]
        expect_equal("owner of {}".format(number), os.lstat(name).st_uid, who.other_uid)
