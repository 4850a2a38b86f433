"""Cases of read(2) and write(2) and their kin."""

import errno
import os

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    call_in_child,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    open_file,
    read_content,
)

READ = CaseGroup("read")
WRITE = CaseGroup("write")


@READ.case()
def read_at_end(who: Actor) -> None:
    """POSIX read: at the end of the file, and past it, a read gives 0 bytes."""
    number = open_file(make_file("file", b"abc"), os.O_RDONLY)
    expect_equal("bytes at the end", os.pread(number, 10, 3), b"")
    expect_equal("bytes past the end", os.pread(number, 10, 1000), b"")


@READ.case()
def read_short(who: Actor) -> None:
    """POSIX read: a read across the end gives the bytes that there are."""
    number = open_file(make_file("file", b"abcdef"), os.O_RDONLY)
    expect_equal("bytes", os.pread(number, 10, 4), b"ef")


@READ.case()
def read_nothing(who: Actor) -> None:
    """POSIX read: a read of 0 bytes gives 0 and leaves the offset."""
    number = open_file(make_file("file", b"abc"), os.O_RDONLY)
    expect_equal("bytes", os.read(number, 0), b"")
    expect_equal("offset", os.lseek(number, 0, os.SEEK_CUR), 0)


@READ.case()
def advance_by_read(who: Actor) -> None:
    """POSIX read: the offset moves by the bytes read."""
    number = open_file(make_file("file", b"abcdef"), os.O_RDONLY)
    expect_equal("reads", [os.read(number, 2), os.read(number, 3), os.read(number, 9)], [b"ab", b"cde", b"f"])


@READ.case()
def leave_offset_by_pread(who: Actor) -> None:
    """POSIX pread: the offset of the descriptor stays where it is."""
    number = open_file(make_file("file", b"abcdef"), os.O_RDONLY)
    os.lseek(number, 2, os.SEEK_SET)
    expect_equal("bytes", os.pread(number, 2, 4), b"ef")
    expect_equal("offset", os.lseek(number, 0, os.SEEK_CUR), 2)


@READ.case()
def read_negative_offset(who: Actor) -> None:
    """POSIX pread: a negative offset is EINVAL."""
    number = open_file(make_file("file", b"abc"), os.O_RDONLY)
    expect_error(errno.EINVAL, os.pread, number, 1, -1)


@READ.case()
def scatter(who: Actor) -> None:
    """POSIX readv: buffers are filled in order, each wholly before the next."""
    number = open_file(make_file("file", b"abcdefg"), os.O_RDONLY)
    first, second = bytearray(3), bytearray(8)
    expect_equal("bytes", os.readv(number, [first, second]), 7)
    expect_equal("buffers", (bytes(first), bytes(second[:4])), (b"abc", b"defg"))


@READ.case()
def read_hole(who: Actor) -> None:
    """POSIX lseek, read: a gap that was never written reads as zeros."""
    number = open_file("file")
    os.pwrite(number, b"end", 200000)
    expect_equal("the gap", os.pread(number, 200000, 0), bytes(200000))
    expect_equal("the end", os.pread(number, 9, 200000), b"end")


@READ.case()
def read_large_file(who: Actor) -> None:
    """POSIX read: 8 MiB come back as they were written."""
    data = bytes(range(256)) * 32768
    make_file("file", data)
    expect_true("the same content", read_content("file") == data)


@READ.case()
def read_from_closed(who: Actor) -> None:
    """POSIX read: a closed descriptor is EBADF."""
    number = open_file(make_file("file"), os.O_RDONLY)
    os.close(number)
    expect_error(errno.EBADF, os.read, number, 1)


@WRITE.case()
def extend_by_write(who: Actor) -> None:
    """POSIX write: a write past the end makes the file longer, at once and for everybody."""
    number = open_file("file")
    expect_equal("bytes", os.write(number, b"abc"), 3)
    expect_equal("size by name", os.stat("file").st_size, 3)
    expect_equal("size in another process", call_in_child(lambda: os.stat("file").st_size), 3)


@WRITE.case()
def overwrite_in_the_middle(who: Actor) -> None:
    """POSIX write: bytes around those written stay."""
    number = open_file(make_file("file", b"abcdef"), os.O_WRONLY)
    os.pwrite(number, b"XY", 2)
    expect_equal("content", read_content("file"), b"abXYef")


@WRITE.case()
def overwrite_across_blocks(who: Actor) -> None:
    """POSIX write: a write at an odd offset across blocks changes its bytes and no others."""
    number = open_file(make_file("file", b"a" * 20000), os.O_WRONLY)
    os.pwrite(number, b"b" * 9001, 4095)
    expect_true("content", read_content("file") == b"a" * 4095 + b"b" * 9001 + b"a" * 6904)


@WRITE.case()
def read_what_was_written(who: Actor) -> None:
    """POSIX write: a read after a successful write gives the new data, through any descriptor."""
    writer, reader = open_file("file"), open_file("file", os.O_RDONLY)
    for round_number in range(20):
        os.pwrite(writer, b"%04d" % round_number, 0)
        expect_equal("content", os.pread(reader, 4, 0), b"%04d" % round_number)


@WRITE.case()
def read_what_other_process_wrote(who: Actor) -> None:
    """POSIX write: data that another process wrote is read at once, over what was read before."""
    number = open_file(make_file("file", b"old"))
    expect_equal("before", os.pread(number, 3, 0), b"old")
    call_in_child(lambda: os.pwrite(number, b"new", 0))
    expect_equal("after", os.pread(number, 3, 0), b"new")


@WRITE.case()
def write_nothing(who: Actor) -> None:
    """POSIX write: a write of 0 bytes to a regular file changes nothing."""
    number = open_file(make_file("file", b"abc"), os.O_WRONLY)
    expect_equal("bytes", os.pwrite(number, b"", 100), 0)
    expect_equal("size", os.stat("file").st_size, 3)


@WRITE.case()
def leave_offset_by_pwrite(who: Actor) -> None:
    """POSIX pwrite: the offset of the descriptor stays where it is."""
    number = open_file("file")
    os.pwrite(number, b"abc", 10)
    expect_equal("offset", os.lseek(number, 0, os.SEEK_CUR), 0)


@WRITE.case()
def write_negative_offset(who: Actor) -> None:
    """POSIX pwrite: a negative offset is EINVAL."""
    expect_error(errno.EINVAL, os.pwrite, open_file("file"), b"x", -1)


@WRITE.case()
def gather(who: Actor) -> None:
    """POSIX writev: buffers are written in order as one."""
    number = open_file("file")
    expect_equal("bytes", os.writev(number, [b"abc", b"", b"de", b"f"]), 6)
    expect_equal("content", read_content("file"), b"abcdef")


@WRITE.case()
def write_far_out(who: Actor) -> None:
    """POSIX write: offsets beyond 4 GiB are possible, and the file is as long as that."""
    number = open_file("file")
    try:
        os.pwrite(number, b"end", 5 << 30)
    except OSError as error:
        if error.errno == errno.EFBIG:  # allowed: an implementation's largest file
            return
        raise
    expect_equal("size", os.stat("file").st_size, (5 << 30) + 3)
    expect_equal("content", os.pread(number, 9, 5 << 30), b"end")


@WRITE.case()
def write_without_end(who: Actor) -> None:
    """POSIX write, lseek: an offset that no file can have is EFBIG or EINVAL."""
    expect_error((errno.EFBIG, errno.EINVAL), os.pwrite, open_file("file"), b"x", (1 << 63) - 1)


@WRITE.case()
def write_to_closed(who: Actor) -> None:
    """POSIX write: a closed descriptor is EBADF."""
    number = open_file("file")
    os.close(number)
    expect_error(errno.EBADF, os.write, number, b"x")


@WRITE.case()
def write_as_child(who: Actor) -> None:
    """POSIX fork: a child's write moves the offset that it shares with its parent."""
    number = open_file("file")
    call_in_child(lambda: os.write(number, b"abc"))
    os.write(number, b"def")
    expect_equal("content", read_content("file"), b"abcdef")


@WRITE.case()
def copy_range(who: Actor) -> None:
    """sendfile(2): bytes go from one file to another within the kernel."""
    make_directory("dir")
    source, target = open_file(make_file("file", b"abcdef" * 1000), os.O_RDONLY), open_file("dir/copy")
    moved = 0
    while moved < 6000:
        count = os.sendfile(target, source, moved, 6000 - moved)
        expect_true("progress", count > 0, count)
        moved += count
    expect_true("the same content", read_content("dir/copy") == b"abcdef" * 1000)
