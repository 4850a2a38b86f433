"""Cases of mkfifo(2), mknod(2), mmap(2) and fsync(2)."""

import errno
import os
import stat
from mmap import MAP_PRIVATE, MAP_SHARED, PROT_READ, PROT_WRITE, mmap

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    NotApplicable,
    call_in_child,
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

MKFIFO = CaseGroup("mkfifo")


MMAP = CaseGroup("mmap")


SYNC = CaseGroup("sync")


@MKFIFO.case()
def make_fifo(who: Actor) -> None:
    """POSIX mkfifo: a FIFO with the mode less the umask."""
    os.umask(0o022)
    os.mkfifo("fifo", 0o666)
    expect_true("a FIFO", stat.S_ISFIFO(os.stat("fifo").st_mode))
    expect_equal("mode", mode_bits("fifo"), 0o644)


@MKFIFO.case()
def pass_bytes_through_fifo(who: Actor) -> None:
    """POSIX mkfifo: what one process writes, another reads; the end of the writer is the end of file."""
    os.mkfifo("fifo")
    reader = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)
    call_in_child(lambda: os.write(os.open("fifo", os.O_WRONLY), b"through"))
    expect_equal("bytes, then the end", (os.read(reader, 99), os.read(reader, 99)), (b"through", b""))


@MKFIFO.case()
def open_fifo_without_reader(who: Actor) -> None:
    """POSIX open: O_WRONLY|O_NONBLOCK on a FIFO that nobody reads is ENXIO."""
    os.mkfifo("fifo")
    expect_error(errno.ENXIO, os.open, "fifo", os.O_WRONLY | os.O_NONBLOCK)


@MKFIFO.case()
def make_fifo_over_existing(who: Actor) -> None:
    """POSIX mkfifo: a name that exists is EEXIST."""
    expect_error(errno.EEXIST, os.mkfifo, make_file("file"))
    expect_error(errno.EEXIST, os.mkfifo, make_directory("dir"))
    expect_error(errno.EEXIST, os.mkfifo, make_link("nothing", "link"))


@MKFIFO.case()
def make_fifo_in_missing_directory(who: Actor) -> None:
    """POSIX mkfifo: a missing directory is ENOENT, a file in its place ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOENT, os.mkfifo, "nothing/fifo")
    expect_error(errno.ENOTDIR, os.mkfifo, "file/fifo")


@MKFIFO.case()
def make_regular_node(who: Actor) -> None:
    """mknod(2): S_IFREG makes an empty regular file."""
    os.mknod("node", stat.S_IFREG | 0o640)
    expect_equal("mode and type", os.stat("node").st_mode, stat.S_IFREG | 0o640)


@MKFIFO.case("user")
def make_device_unprivileged(who: Actor) -> None:
    """mknod(2): a device without the privilege is EPERM."""
    expect_error(errno.EPERM, os.mknod, "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))


@MKFIFO.case("root")
def make_device(who: Actor) -> None:
    """mknod(2): root makes a device file, which keeps its number; containers may forbid it."""
    try:
        os.mknod("null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError as error:
        raise NotApplicable("this root may not make devices") from error
    status = os.stat("null")
    expect_true("a character device", stat.S_ISCHR(status.st_mode))
    expect_equal("number", (os.major(status.st_rdev), os.minor(status.st_rdev)), (1, 3))


@MMAP.case()
def map_file(who: Actor) -> None:
    """POSIX mmap: a mapping shows the file's content; bytes after the end in the last page are zeros."""
    number = open_file(make_file("file", b"abc" * 1000), os.O_RDONLY)
    with mmap(number, 3000, MAP_SHARED, PROT_READ) as view:
        expect_true("content", view[:] == b"abc" * 1000)


@MMAP.case()
def read_what_a_mapping_wrote(who: Actor) -> None:
    """POSIX mmap: what is stored in a shared mapping is read by read, and stays after munmap."""
    number = open_file(make_file("file", b"x" * 5000))
    with mmap(number, 5000, MAP_SHARED, PROT_READ | PROT_WRITE) as view:
        view[4094:4098] = b"abcd"
        expect_equal("bytes read", os.pread(number, 4, 4094), b"abcd")
    expect_equal("bytes read by name", read_content("file")[4093:4099], b"xabcdx")


@MMAP.case()
def map_what_was_written(who: Actor) -> None:
    """Linux mmap(2): what write writes is seen in a shared mapping."""
    number = open_file(make_file("file", b"x" * 5000))
    with mmap(number, 5000, MAP_SHARED, PROT_READ) as view:
        expect_equal("before", view[:2], b"xx")
        os.pwrite(number, b"ab", 0)
        expect_equal("after", view[:2], b"ab")


@MMAP.case()
def share_mapping_between_processes(who: Actor) -> None:
    """POSIX mmap: processes that map the same file share its memory."""
    number = open_file(make_file("file", b"x" * 4096))

    def store() -> None:
        with mmap(open_file("file"), 4096, MAP_SHARED, PROT_READ | PROT_WRITE) as own:
            own[:3] = b"abc"

    with mmap(number, 4096, MAP_SHARED, PROT_READ) as view:
        call_in_child(store)
        expect_equal("bytes", view[:4], b"abcx")


@MMAP.case()
def keep_private_mapping(who: Actor) -> None:
    """POSIX mmap: stores in a private mapping do not reach the file."""
    number = open_file(make_file("file", b"x" * 100))
    with mmap(number, 100, MAP_PRIVATE, PROT_READ | PROT_WRITE) as view:
        view[:3] = b"abc"
        expect_equal("bytes of the mapping", view[:4], b"abcx")
    expect_true("content of the file", read_content("file") == b"x" * 100)


@MMAP.case()
def map_for_writing_without_right(who: Actor) -> None:
    """POSIX mmap: a writable shared mapping of a descriptor for reading is EACCES."""
    number = open_file(make_file("file", b"x" * 100), os.O_RDONLY)
    expect_error(errno.EACCES, mmap, number, 100, MAP_SHARED, PROT_READ | PROT_WRITE)


@MMAP.case()
def keep_mapping_of_unlinked_file(who: Actor) -> None:
    """POSIX mmap, unlink: a mapping lives on after the descriptor is closed and the name removed."""
    number = open_file(make_file("file", b"abc"))
    with mmap(number, 3, MAP_SHARED, PROT_READ) as view:
        os.close(number)
        os.unlink("file")
        expect_equal("bytes", view[:], b"abc")


@MMAP.case()
def synchronise_mapping(who: Actor) -> None:
    """POSIX msync: a changed mapping is written out without an error."""
    number = open_file(make_file("file", b"x" * 8192))
    with mmap(number, 8192, MAP_SHARED, PROT_READ | PROT_WRITE) as view:
        view[:3] = b"abc"
        view.flush()
    expect_equal("bytes", read_content("file")[:4], b"abcx")


@SYNC.case()
def sync_file(who: Actor) -> None:
    """POSIX fsync, fdatasync: they succeed after a write, also by a descriptor for reading."""
    number = open_file("file")
    os.write(number, b"abc")
    os.fsync(number)
    os.fdatasync(number)
    os.fsync(open_file("file", os.O_RDONLY))


@SYNC.case()
def sync_directory(who: Actor) -> None:
    """fsync(2): a directory can be synchronised, so that new entries last."""
    make_directory("dir")
    make_file("dir/file")
    os.fsync(open_file("dir", os.O_RDONLY | os.O_DIRECTORY))


@SYNC.case()
def sync_closed(who: Actor) -> None:
    """POSIX fsync: a closed descriptor is EBADF."""
    number = open_file("file")
    os.close(number)
    expect_error(errno.EBADF, os.fsync, number)
    expect_error(errno.EBADF, os.fdatasync, number)


@SYNC.case()
def sync_pipe(who: Actor) -> None:
    """POSIX fsync: a FIFO is EINVAL."""
    os.mkfifo("fifo")
    expect_error(errno.EINVAL, os.fsync, os.open("fifo", os.O_RDONLY | os.O_NONBLOCK))


@SYNC.case()
def write_synchronously(who: Actor) -> None:
    """POSIX open: writes with O_SYNC and O_DSYNC succeed, and are there."""
    for flag in (os.O_SYNC, os.O_DSYNC):
        os.write(open_file("file", os.O_CREAT | os.O_WRONLY | os.O_APPEND | flag), b"abc")
    expect_equal("content", read_content("file"), b"abcabc")
