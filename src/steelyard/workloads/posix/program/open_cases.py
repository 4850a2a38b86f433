"""Cases of open(2)."""

import errno
import os
import stat
from mmap import mmap

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
    mode_bits,
    open_file,
    read_content,
)

OPEN = CaseGroup("open")


@OPEN.case()
def create_file(who: Actor) -> None:
    """POSIX open: O_CREAT makes an empty regular file that the effective user owns."""
    open_file("new", os.O_CREAT | os.O_WRONLY, 0o640)
    status = os.stat("new")
    expect_true("a regular file", stat.S_ISREG(status.st_mode), oct(status.st_mode))
    expect_equal("size, owner, links", (status.st_size, status.st_uid, status.st_nlink), (0, who.uid, 1))
    expect_equal("mode", mode_bits("new"), 0o640)


@OPEN.case()
def create_under_umask(who: Actor) -> None:
    """POSIX open: bits of the umask are cleared in the mode of a new file."""
    os.umask(0o027)
    open_file("new", os.O_CREAT | os.O_WRONLY, 0o666)
    expect_equal("mode", mode_bits("new"), 0o640)


@OPEN.case()
def create_over_file(who: Actor) -> None:
    """POSIX open: O_CREAT without O_EXCL has no effect on a file that exists."""
    make_file("file", b"old", 0o600)
    open_file("file", os.O_CREAT | os.O_WRONLY, 0o644)
    expect_equal("content and mode", (read_content("file"), mode_bits("file")), (b"old", 0o600))


@OPEN.case()
def create_unwritable_file(who: Actor) -> None:
    """POSIX open: the mode of a new file does not restrict the descriptor that created it."""
    number = open_file("new", os.O_CREAT | os.O_RDWR, 0)
    expect_equal("bytes written", os.write(number, b"abc"), 3)
    expect_equal("content", os.pread(number, 9, 0), b"abc")


@OPEN.case()
def exclude_file(who: Actor) -> None:
    """POSIX open: O_CREAT|O_EXCL on an existing file is EEXIST."""
    make_file("file")
    expect_error(errno.EEXIST, open_file, "file", os.O_CREAT | os.O_EXCL | os.O_WRONLY)


@OPEN.case()
def exclude_directory(who: Actor) -> None:
    """POSIX open: O_CREAT|O_EXCL on an existing directory is EEXIST."""
    make_directory("dir")
    expect_error(errno.EEXIST, open_file, "dir", os.O_CREAT | os.O_EXCL | os.O_WRONLY)


@OPEN.case()
def exclude_dangling_link(who: Actor) -> None:
    """POSIX open: O_CREAT|O_EXCL does not follow a symbolic link, even one to nothing: EEXIST."""
    make_link("nothing", "link")
    expect_error(errno.EEXIST, open_file, "link", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    expect_true("the target was not created", not exists("nothing"))


@OPEN.case()
def exclude_in_a_race(who: Actor) -> None:
    """POSIX open: with O_CREAT|O_EXCL, one of several processes that create the same file succeeds."""

    def create_all() -> "list[int]":
        won = []
        for number in range(40):
            try:
                os.close(open_file("race{}".format(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                won.append(number)
            except FileExistsError:
                pass
        return won

    readers = [start_racer(create_all) for _ in range(4)]
    won = sorted(int(each) for reader in readers for each in finish_racer(reader).split())
    expect_equal("files created", won, list(range(40)))


def start_racer(function: "object") -> "tuple[int, int]":
    """A process that prints the numbers that a function gives into a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, " ".join(str(each) for each in function()).encode())  # type: ignore[operator]
        finally:
            os._exit(0)
    os.close(writing)
    return child, reading


def finish_racer(racer: "tuple[int, int]") -> str:
    """What it printed."""
    with os.fdopen(racer[1]) as pipe:
        text = pipe.read()
    os.waitpid(racer[0], 0)
    return text


@OPEN.case()
def create_through_dangling_link(who: Actor) -> None:
    """POSIX open: O_CREAT without O_EXCL follows a symbolic link and creates its target."""
    make_link("target", "link")
    open_file("link", os.O_CREAT | os.O_WRONLY)
    expect_true("the target exists", os.path.isfile("target"))


@OPEN.case()
def truncate_at_open(who: Actor) -> None:
    """POSIX open: O_TRUNC cuts the file to length 0 and leaves its mode and serial number."""
    make_file("file", b"content", 0o640)
    before = os.stat("file")
    open_file("file", os.O_WRONLY | os.O_TRUNC)
    after = os.stat("file")
    expect_equal("size", after.st_size, 0)
    expect_equal("mode, inode", (after.st_mode, after.st_ino), (before.st_mode, before.st_ino))


@OPEN.case()
def append_at_end(who: Actor) -> None:
    """POSIX open: with O_APPEND each write goes to the end of the file, wherever the offset was."""
    make_file("file", b"abc")
    number = open_file("file", os.O_WRONLY | os.O_APPEND)
    os.lseek(number, 0, os.SEEK_SET)
    os.write(number, b"def")
    expect_equal("content", read_content("file"), b"abcdef")


@OPEN.case()
def append_by_two(who: Actor) -> None:
    """POSIX open: writes through two descriptors with O_APPEND never overwrite each other."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    first, second = open_file("log", flags), open_file("log", flags)
    for _ in range(10):
        os.write(first, b"a" * 10)
        os.write(second, b"b" * 10)
    expect_equal("content", read_content("log"), (b"a" * 10 + b"b" * 10) * 10)


@OPEN.case()
def append_by_processes(who: Actor) -> None:
    """POSIX open: O_APPEND loses no write of several processes on one host."""

    def append_lines() -> "list[int]":
        number = open_file("log", os.O_WRONLY | os.O_APPEND)
        return [os.write(number, b"0123456789abcde\n") for _ in range(100)]

    make_file("log")
    racers = [start_racer(append_lines) for _ in range(3)]
    for racer in racers:
        finish_racer(racer)
    expect_equal("size", os.stat("log").st_size, 3 * 100 * 16)
    expect_equal("distinct lines", set(read_content("log").splitlines()), {b"0123456789abcde"})


@OPEN.case()
def refuse_to_follow(who: Actor) -> None:
    """POSIX open: O_NOFOLLOW on a symbolic link is ELOOP."""
    make_link(make_file("file"), "link")
    expect_error(errno.ELOOP, open_file, "link", os.O_RDONLY | os.O_NOFOLLOW)


@OPEN.case()
def follow_in_the_middle(who: Actor) -> None:
    """open(2): O_NOFOLLOW concerns the last component alone."""
    make_directory("dir")
    make_file("dir/file")
    make_link("dir", "link")
    open_file("link/file", os.O_RDONLY | os.O_NOFOLLOW)


@OPEN.case()
def want_directory_find_file(who: Actor) -> None:
    """POSIX open: O_DIRECTORY on something else is ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOTDIR, open_file, "file", os.O_RDONLY | os.O_DIRECTORY)


@OPEN.case()
def open_directory(who: Actor) -> None:
    """POSIX open: a directory can be opened for reading."""
    number = open_file(make_directory("dir"), os.O_RDONLY | os.O_DIRECTORY)
    expect_true("a directory", stat.S_ISDIR(os.fstat(number).st_mode))


@OPEN.case()
def write_to_directory(who: Actor) -> None:
    """POSIX open: a directory opened for writing is EISDIR."""
    make_directory("dir")
    expect_error(errno.EISDIR, open_file, "dir", os.O_WRONLY)
    expect_error(errno.EISDIR, open_file, "dir", os.O_RDWR)


@OPEN.case()
def create_over_directory(who: Actor) -> None:
    """open(2): O_CREAT for writing on an existing directory is EISDIR."""
    make_directory("dir")
    expect_error(errno.EISDIR, open_file, "dir", os.O_CREAT | os.O_WRONLY)


@OPEN.case()
def read_directory_as_file(who: Actor) -> None:
    """read(2): a read from a directory is EISDIR."""
    number = open_file(make_directory("dir"), os.O_RDONLY)
    expect_error(errno.EISDIR, os.read, number, 10)


@OPEN.case()
def open_missing_file(who: Actor) -> None:
    """POSIX open: without O_CREAT a missing file is ENOENT."""
    expect_error(errno.ENOENT, open_file, "nothing", os.O_RDONLY)


@OPEN.case()
def create_in_missing_directory(who: Actor) -> None:
    """POSIX open: a missing directory in the path is ENOENT, with O_CREAT too."""
    expect_error(errno.ENOENT, open_file, "nothing/new", os.O_CREAT | os.O_WRONLY)


@OPEN.case()
def open_empty_path(who: Actor) -> None:
    """POSIX open: the empty path is ENOENT."""
    expect_error(errno.ENOENT, open_file, "", os.O_RDONLY)


@OPEN.case()
def open_beneath_file(who: Actor) -> None:
    """POSIX open: a file in the place of a directory is ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOTDIR, open_file, "file/new", os.O_CREAT | os.O_WRONLY)


@OPEN.case()
def open_file_with_slash(who: Actor) -> None:
    """POSIX path resolution: a slash after the name of a file is ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOTDIR, open_file, "file/", os.O_RDONLY)


@OPEN.case()
def create_file_with_slash(who: Actor) -> None:
    """open(2), path_resolution(7): O_CREAT makes no file where a slash follows its name."""
    expect_error((errno.EISDIR, errno.ENOENT, errno.ENOTDIR), open_file, "new/", os.O_CREAT | os.O_WRONLY)
    expect_true("nothing was created", not exists("new"))


@OPEN.case()
def write_to_reader(who: Actor) -> None:
    """POSIX write: a descriptor that is not open for writing is EBADF."""
    make_file("file")
    expect_error(errno.EBADF, os.write, open_file("file", os.O_RDONLY), b"x")


@OPEN.case()
def read_from_writer(who: Actor) -> None:
    """POSIX read: a descriptor that is not open for reading is EBADF."""
    expect_error(errno.EBADF, os.read, open_file("file", os.O_CREAT | os.O_WRONLY), 1)


@OPEN.case()
def open_path_only(who: Actor) -> None:
    """open(2): a descriptor of O_PATH can be examined but not read: EBADF."""
    make_file("file", b"abc")
    number = open_file("file", os.O_PATH)
    expect_equal("size", os.fstat(number).st_size, 3)
    expect_error(errno.EBADF, os.read, number, 1)


@OPEN.case()
def open_relative_to_directory(who: Actor) -> None:
    """POSIX openat: a relative path starts at the directory of the descriptor."""
    directory = open_file(make_directory("dir"), os.O_RDONLY | os.O_DIRECTORY)
    os.close(os.open("new", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=directory))
    expect_true("dir/new exists", os.path.isfile("dir/new"))


@OPEN.case()
def open_relative_to_file(who: Actor) -> None:
    """POSIX openat: a relative path and a descriptor that is no directory's is ENOTDIR."""
    number = open_file("file")
    expect_error(errno.ENOTDIR, os.open, "new", os.O_CREAT | os.O_WRONLY, dir_fd=number)


@OPEN.case()
def open_relative_to_moved_directory(who: Actor) -> None:
    """POSIX openat: the descriptor of a directory stays good when the directory is renamed."""
    directory = open_file(make_directory("dir"), os.O_RDONLY | os.O_DIRECTORY)
    os.rename("dir", "moved")
    os.close(os.open("new", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=directory))
    expect_true("moved/new exists", os.path.isfile("moved/new"))


@OPEN.case()
def keep_offsets_apart(who: Actor) -> None:
    """POSIX open: each open has an offset of its own; dup shares it."""
    make_file("file", b"abcdef")
    first, second = open_file("file", os.O_RDONLY), open_file("file", os.O_RDONLY)
    expect_equal("first read", os.read(first, 3), b"abc")
    expect_equal("read of the other", os.read(second, 3), b"abc")
    expect_equal("read of the duplicate", os.read(os.dup(first), 3), b"def")


@OPEN.case()
def see_file_of_other_process(who: Actor) -> None:
    """POSIX open: what another process created and wrote is seen at once."""
    call_in_child(lambda: make_file("file", b"from the child"))
    expect_equal("content", read_content("file"), b"from the child")


@OPEN.case(optional=True)
def open_direct(who: Actor) -> None:
    """open(2): O_DIRECT writes and reads an aligned block; a system may refuse the flag with EINVAL."""
    try:
        number = open_file("file", os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Unsupported("open with O_DIRECT is EINVAL") from error
        raise
    block = mmap(-1, 65536)
    block.write(b"direct.." * 8192)
    expect_equal("bytes written", os.writev(number, [block]), 65536)
    block[:] = bytes(65536)
    os.lseek(number, 0, os.SEEK_SET)
    expect_equal("bytes read", os.readv(number, [block]), 65536)
    expect_equal("content", block[:], b"direct.." * 8192)
