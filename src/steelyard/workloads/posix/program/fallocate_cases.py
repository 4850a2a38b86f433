"""Cases of posix_fallocate(3) and fallocate(2)."""

import errno
import os

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    expect_equal,
    expect_error,
    expect_true,
    make_file,
    mode_bits,
    open_file,
    read_content,
)
from steelyard.workloads.posix.program.libc import COLLAPSE_RANGE, KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE, allocate

FALLOCATE = CaseGroup("fallocate")


@FALLOCATE.case()
def reserve_space(who: Actor) -> None:
    """POSIX posix_fallocate: the file is at least as long as asked, content stays, new bytes are zeros."""
    number = open_file(make_file("file", b"abc"))
    os.posix_fallocate(number, 0, 50000)
    expect_true("content", os.pread(number, 60000, 0) == b"abc" + bytes(49997))


@FALLOCATE.case()
def reserve_inside(who: Actor) -> None:
    """POSIX posix_fallocate: a file never becomes shorter."""
    number = open_file(make_file("file", b"x" * 10000))
    os.posix_fallocate(number, 0, 10)
    expect_equal("size", os.stat("file").st_size, 10000)


@FALLOCATE.case()
def reserve_nothing(who: Actor) -> None:
    """posix_fallocate(3), fallocate(2): a length of 0 or an offset below 0 is EINVAL."""
    number = open_file("file")
    expect_error(errno.EINVAL, os.posix_fallocate, number, 0, 0)
    expect_error(errno.EINVAL, os.posix_fallocate, number, -1, 10)


@FALLOCATE.case()
def reserve_for_reader(who: Actor) -> None:
    """POSIX posix_fallocate: a descriptor that is not open for writing is EBADF."""
    number = open_file(make_file("file"), os.O_RDONLY)
    expect_error(errno.EBADF, os.posix_fallocate, number, 0, 10)


@FALLOCATE.case(optional=True)
def reserve_beyond_end(who: Actor) -> None:
    """fallocate(2): with FALLOC_FL_KEEP_SIZE blocks are reserved and the size stays."""
    number = open_file(make_file("file", b"abc"))
    before = os.fstat(number).st_blocks
    allocate(number, KEEP_SIZE, 0, 1 << 20)
    after = os.fstat(number)
    expect_equal("size", after.st_size, 3)
    expect_true("more blocks", after.st_blocks > before, after.st_blocks)


@FALLOCATE.case(optional=True)
def punch_hole(who: Actor) -> None:
    """fallocate(2): FALLOC_FL_PUNCH_HOLE frees whole blocks, which read as zeros; the size stays."""
    number = open_file(make_file("file", b"x" * (4 << 20)))
    os.fsync(number)
    before = os.fstat(number).st_blocks
    allocate(number, PUNCH_HOLE | KEEP_SIZE, 1 << 20, 2 << 20)
    os.fsync(number)
    data = read_content("file")
    expect_equal("size", len(data), 4 << 20)
    expect_true("zeros in the hole", data[1 << 20 : 3 << 20] == bytes(2 << 20))
    expect_true("data around it", set(data[: 1 << 20] + data[3 << 20 :]) == {ord("x")})
    expect_true("fewer blocks", os.fstat(number).st_blocks < before, os.fstat(number).st_blocks)


@FALLOCATE.case(optional=True)
def punch_odd_hole(who: Actor) -> None:
    """fallocate(2): parts of blocks at the edges of a hole are zeroed."""
    number = open_file(make_file("file", b"x" * 20000))
    allocate(number, PUNCH_HOLE | KEEP_SIZE, 5000, 7001)
    expect_true("content", read_content("file") == b"x" * 5000 + bytes(7001) + b"x" * 7999)


@FALLOCATE.case(optional=True)
def punch_and_shorten(who: Actor) -> None:
    """fallocate(2): FALLOC_FL_PUNCH_HOLE without FALLOC_FL_KEEP_SIZE is EOPNOTSUPP or EINVAL."""
    number = open_file(make_file("file", b"x" * 20000))
    allocate(number, PUNCH_HOLE | KEEP_SIZE, 0, 4096)
    expect_error((errno.EOPNOTSUPP, errno.EINVAL), allocate, number, PUNCH_HOLE, 0, 4096)


@FALLOCATE.case(optional=True)
def zero_range(who: Actor) -> None:
    """fallocate(2): FALLOC_FL_ZERO_RANGE makes a range read as zeros, and the file longer where needed."""
    number = open_file(make_file("file", b"x" * 10000))
    allocate(number, ZERO_RANGE, 5000, 10000)
    expect_true("content", read_content("file") == b"x" * 5000 + bytes(10000))


@FALLOCATE.case(optional=True)
def collapse_range(who: Actor) -> None:
    """fallocate(2): FALLOC_FL_COLLAPSE_RANGE takes blocks out of the middle of a file."""
    number = open_file(make_file("file", b"a" * 65536 + b"b" * 65536 + b"c" * 65536))
    allocate(number, COLLAPSE_RANGE, 65536, 65536)
    expect_true("content", read_content("file") == b"a" * 65536 + b"c" * 65536)


@FALLOCATE.case(optional=True)
def keep_mode(who: Actor) -> None:
    """fallocate(2): permissions stay when space is reserved."""
    number = open_file(make_file("file", b"", 0o640))
    allocate(number, 0, 0, 10000)
    expect_equal("mode", mode_bits("file"), 0o640)
