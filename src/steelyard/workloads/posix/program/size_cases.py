"""Cases of lseek(2) and truncate(2)."""

import errno
import os

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    Unsupported,
    call_in_child,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    make_link,
    open_file,
    read_content,
)

LSEEK = CaseGroup("lseek")


TRUNCATE = CaseGroup("truncate")


@LSEEK.case()
def seek_everywhere(who: Actor) -> None:
    """POSIX lseek: from the start, from here and from the end."""
    number = open_file(make_file("file", b"abcdef"), os.O_RDONLY)
    places = [
        os.lseek(number, 4, os.SEEK_SET),
        os.lseek(number, -2, os.SEEK_CUR),
        os.lseek(number, -1, os.SEEK_END),
    ]
    expect_equal("offsets", places, [4, 2, 5])


@LSEEK.case()
def seek_past_end(who: Actor) -> None:
    """POSIX lseek: a seek past the end is allowed and does not make the file longer."""
    number = open_file(make_file("file", b"abc"))
    expect_equal("offset", os.lseek(number, 100, os.SEEK_SET), 100)
    expect_equal("size", os.stat("file").st_size, 3)


@LSEEK.case()
def seek_before_start(who: Actor) -> None:
    """POSIX lseek: an offset below 0 is EINVAL and leaves the offset."""
    number = open_file(make_file("file", b"abc"), os.O_RDONLY)
    os.lseek(number, 2, os.SEEK_SET)
    expect_error(errno.EINVAL, os.lseek, number, -3, os.SEEK_CUR)
    expect_equal("offset", os.lseek(number, 0, os.SEEK_CUR), 2)


@LSEEK.case()
def seek_from_unknown_place(who: Actor) -> None:
    """POSIX lseek: an unknown whence is EINVAL."""
    expect_error(errno.EINVAL, os.lseek, open_file("file"), 0, 99)


@LSEEK.case()
def seek_in_pipe(who: Actor) -> None:
    """POSIX lseek: a FIFO is ESPIPE."""
    os.mkfifo("fifo")
    number = open_file("fifo", os.O_RDONLY | os.O_NONBLOCK)
    expect_error(errno.ESPIPE, os.lseek, number, 0, os.SEEK_SET)


@LSEEK.case()
def seek_data(who: Actor) -> None:
    """lseek(2): SEEK_DATA never skips data, and never goes past the end."""
    number = open_file("file")
    os.pwrite(number, b"data", 1 << 20)
    place = os.lseek(number, 0, os.SEEK_DATA)
    expect_true("data begin at 1 MiB or before", place <= 1 << 20, place)
    expect_equal("data at an offset with data", os.lseek(number, (1 << 20) + 2, os.SEEK_DATA), (1 << 20) + 2)


@LSEEK.case()
def seek_hole(who: Actor) -> None:
    """lseek(2): the end of the file counts as a hole, and no hole is found inside data."""
    number = open_file(make_file("file", b"x" * 100000), os.O_RDONLY)
    expect_equal("the first hole", os.lseek(number, 0, os.SEEK_HOLE), 100000)


@LSEEK.case()
def seek_data_at_end(who: Actor) -> None:
    """lseek(2): SEEK_DATA and SEEK_HOLE at or past the end are ENXIO."""
    number = open_file(make_file("file", b"abc"), os.O_RDONLY)
    expect_error(errno.ENXIO, os.lseek, number, 3, os.SEEK_DATA)
    expect_error(errno.ENXIO, os.lseek, number, 1000, os.SEEK_HOLE)


@LSEEK.case(optional=True)
def tell_holes_from_data(who: Actor) -> None:
    """lseek(2): SEEK_DATA skips a hole of 16 MiB; a system that knows no holes calls all of it data."""
    number = open_file("file")
    os.pwrite(number, b"x", 0)
    os.pwrite(number, b"data", 16 << 20)
    hole = os.lseek(number, 0, os.SEEK_HOLE)
    if hole == (16 << 20) + 4:
        raise Unsupported("the system reports no holes")
    expect_true("the hole begins soon after the first byte", 0 < hole <= 4 << 20, hole)
    place = os.lseek(number, hole, os.SEEK_DATA)
    expect_true("data begin at most a block before 16 MiB", 12 << 20 <= place <= 16 << 20, place)


@TRUNCATE.case()
def shorten_file(who: Actor) -> None:
    """POSIX truncate: what is beyond the new length is gone."""
    os.truncate(make_file("file", b"abcdef"), 2)
    expect_equal("content", read_content("file"), b"ab")


@TRUNCATE.case()
def lengthen_file(who: Actor) -> None:
    """POSIX truncate: a longer file ends in zeros."""
    os.truncate(make_file("file", b"ab"), 10000)
    expect_true("content", read_content("file") == b"ab" + bytes(9998))


@TRUNCATE.case()
def forget_what_was_cut(who: Actor) -> None:
    """POSIX truncate: bytes that were cut off do not come back when the file is lengthened."""
    number = open_file(make_file("file", b"x" * 10000))
    os.ftruncate(number, 100)
    os.ftruncate(number, 10000)
    expect_true("zeros after byte 100", os.pread(number, 10000, 100) == bytes(9900))


@TRUNCATE.case()
def truncate_descriptor(who: Actor) -> None:
    """POSIX ftruncate: the size changes, the offset does not."""
    number = open_file(make_file("file", b"abcdef"))
    os.lseek(number, 5, os.SEEK_SET)
    os.ftruncate(number, 2)
    expect_equal("offset", os.lseek(number, 0, os.SEEK_CUR), 5)
    os.write(number, b"x")
    expect_equal("content", read_content("file"), b"ab\0\0\0x")


@TRUNCATE.case()
def truncate_large(who: Actor) -> None:
    """POSIX truncate: a length beyond 4 GiB is possible, or EFBIG."""
    number = open_file("file")
    try:
        os.ftruncate(number, 6 << 30)
    except OSError as error:
        if error.errno == errno.EFBIG:
            return
        raise
    expect_equal("size", os.stat("file").st_size, 6 << 30)


@TRUNCATE.case()
def truncate_negative(who: Actor) -> None:
    """POSIX truncate: a length below 0 is EINVAL."""
    number = open_file(make_file("file", b"abc"))
    expect_error(errno.EINVAL, os.truncate, "file", -1)
    expect_error(errno.EINVAL, os.ftruncate, number, -1)
    expect_equal("size", os.stat("file").st_size, 3)


@TRUNCATE.case()
def truncate_directory(who: Actor) -> None:
    """POSIX truncate: a directory is EISDIR."""
    expect_error(errno.EISDIR, os.truncate, make_directory("dir"), 0)


@TRUNCATE.case()
def truncate_missing(who: Actor) -> None:
    """POSIX truncate: a missing file is ENOENT."""
    expect_error(errno.ENOENT, os.truncate, "nothing", 0)


@TRUNCATE.case()
def truncate_beneath_file(who: Actor) -> None:
    """POSIX truncate: a file in the place of a directory is ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOTDIR, os.truncate, "file/x", 0)


@TRUNCATE.case()
def truncate_through_link(who: Actor) -> None:
    """POSIX truncate: symbolic links are followed."""
    make_link(make_file("file", b"abc"), "link")
    os.truncate("link", 1)
    expect_equal("content", read_content("file"), b"a")


@TRUNCATE.case()
def truncate_reader(who: Actor) -> None:
    """POSIX ftruncate: a descriptor that is not open for writing is EINVAL or EBADF."""
    number = open_file(make_file("file", b"abc"), os.O_RDONLY)
    expect_error((errno.EINVAL, errno.EBADF), os.ftruncate, number, 0)


@TRUNCATE.case()
def truncate_beside_reader(who: Actor) -> None:
    """POSIX truncate: a descriptor that is open sees the new size at once."""
    number = open_file(make_file("file", b"abcdef"), os.O_RDONLY)
    expect_equal("before", os.read(number, 3), b"abc")
    call_in_child(lambda: os.truncate("file", 3))
    expect_equal("after", os.read(number, 3), b"")
