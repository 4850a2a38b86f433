"""Cases of path resolution: long names and paths, loops, odd names."""

import errno
import os

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    expect_equal,
    expect_error,
    make_directory,
    make_file,
    make_link,
    open_file,
    read_content,
)

PATH = CaseGroup("path")


@PATH.case()
def use_longest_name(who: Actor) -> None:
    """POSIX pathconf: a name of NAME_MAX bytes works for files, directories, links and renames."""
    longest = os.pathconf(".", "PC_NAME_MAX")
    name = "n" * longest
    os.unlink(make_file(name))
    os.rename(make_directory(name), "d" * longest)
    os.rmdir("d" * longest)
    make_link("a", name)
    expect_equal("names", os.listdir("."), [name])


@PATH.case()
def refuse_longer_name(who: Actor) -> None:
    """POSIX: a name of NAME_MAX + 1 bytes is ENAMETOOLONG in every call."""
    name = "n" * (os.pathconf(".", "PC_NAME_MAX") + 1)
    make_file("file")
    for call in (os.mkdir, os.rmdir, os.unlink, os.stat, os.mkfifo, open_file, os.readlink):
        expect_error(errno.ENAMETOOLONG, call, name)
    for pair in (os.rename, os.link):
        expect_error(errno.ENAMETOOLONG, pair, "file", name)
    expect_error(errno.ENAMETOOLONG, os.symlink, "a", name)
    expect_error(errno.ENAMETOOLONG, os.truncate, name, 0)


@PATH.case()
def use_longest_path(who: Actor) -> None:
    """POSIX: a path of PATH_MAX - 1 bytes works."""
    path = fill_path("file")
    make_file(path, b"abc")
    expect_equal("content", read_content("file"), b"abc")
    os.rename(path, fill_path("new1"))
    os.unlink(fill_path("new1"))


@PATH.case()
def refuse_longer_path(who: Actor) -> None:
    """POSIX: a path of PATH_MAX bytes is ENAMETOOLONG."""
    make_file("file")
    path = "." + os.sep + fill_path("file")
    for call in (os.stat, os.unlink, os.mkdir, open_file):
        expect_error(errno.ENAMETOOLONG, call, path)
    expect_error(errno.ENAMETOOLONG, os.rename, "file", path)


def fill_path(name: str) -> str:
    """A path of PATH_MAX - 1 bytes, or one fewer, that leads to a name in this directory."""
    longest = os.pathconf(".", "PC_PATH_MAX") - 1
    return ("." + os.sep) * ((longest - len(name)) >> 1) + name


@PATH.case()
def go_deep(who: Actor) -> None:
    """POSIX mkdirat: directories can lie deeper than PATH_MAX, step by step."""
    number = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    name = "d" * 200
    for _ in range(30):
        os.mkdir(name, dir_fd=number)
        number = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=number)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=number))
    expect_equal("entries at the bottom", os.listdir(number), ["file"])


@PATH.case()
def follow_chain_of_links(who: Actor) -> None:
    """POSIX: at least eight symbolic links are followed (_POSIX_SYMLOOP_MAX)."""
    make_file("file", b"abc")
    make_link("file", "link0")
    for number in range(7):
        make_link("link{}".format(number), "link{}".format(number + 1))
    expect_equal("content", read_content("link7"), b"abc")


@PATH.case()
def detect_loop(who: Actor) -> None:
    """POSIX: a loop of symbolic links is ELOOP in every call that follows them."""
    make_link("two", "one")
    make_link("one", "two")
    for call in (os.stat, os.listdir, open_file, os.chdir):
        expect_error(errno.ELOOP, call, "one")
    for beneath in (os.mkdir, os.unlink, os.rmdir, os.mkfifo, os.readlink):
        expect_error(errno.ELOOP, beneath, "one/x")
    expect_error(errno.ELOOP, os.chmod, "one", 0o644)
    expect_error(errno.ELOOP, os.truncate, "one", 0)
    expect_error(errno.ELOOP, os.rename, "one/x", "y")


@PATH.case()
def tell_case_apart(who: Actor) -> None:
    """POSIX: names that differ in case are different names."""
    make_file("Name", b"1")
    make_file("name", b"2")
    expect_equal("contents", (read_content("Name"), read_content("name")), (b"1", b"2"))


@PATH.case()
def keep_odd_names(who: Actor) -> None:
    """POSIX: a name may hold any byte but 0 and the slash, and is given back as it was."""
    names = [
        b"with space",
        b" lead",
        b"trail.",
        b"new\nline",
        b"\x01\x7f",
        b"-r",
        b"*?[a]",
        b"back\\slash",
        b"colon:",
    ]
    names += ["\u00e9\u20ac\U0001f600".encode(), "e\u0301".encode()]
    for name in names:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    expect_equal("names", sorted(os.listdir(b".")), sorted(names))


@PATH.case()
def keep_names_of_any_bytes(who: Actor) -> None:
    """POSIX: a name that is no UTF-8 is a name (some systems store text alone)."""
    name = bytes(each for each in range(128, 256))
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    expect_equal("names", os.listdir(b"."), [name])


@PATH.case()
def ignore_extra_slashes(who: Actor) -> None:
    """POSIX: several slashes count as one, `.` as nothing."""
    make_directory("dir")
    make_file("dir/file", b"abc")
    path = os.sep.join(["dir", "", "", ".", "", "..", "dir", "file"])
    expect_equal("content", read_content(path), b"abc")


@PATH.case()
def change_directory(who: Actor) -> None:
    """POSIX chdir, getcwd: a directory that is renamed stays the working directory."""
    make_directory("dir")
    os.chdir("dir")
    os.rename(os.path.join("..", "dir"), os.path.join("..", "new"))
    make_file("file", b"abc")
    expect_equal("content", read_content("../new/file"), b"abc")
