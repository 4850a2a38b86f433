"""Cases of fcntl(2) record locks and flock(2)."""

import errno
import fcntl
import os
import struct

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    Unsupported,
    call_in_child,
    expect_equal,
    expect_error,
    make_file,
    open_file,
)

LOCK = CaseGroup("lock")
FLOCK = CaseGroup("flock")

BUSY = (errno.EAGAIN, errno.EACCES)
EXCLUSIVE, SHARED = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_SH | fcntl.LOCK_NB
F_OFD_SETLK = 37
LAYOUT = "hhqqi4x"  # struct flock of 64-bit Linux: type, whence, start, length, process


def lock_range(number: int, kind: int, start: int = 0, length: int = 0) -> None:
    """F_SETLK of a range of bytes; a length of 0 is to the end."""
    fcntl.lockf(number, kind, length, start)


def lock_as_other(kind: int, start: int = 0, length: int = 0) -> None:
    """F_SETLK by another process, which ends and so gives the lock up. Raises OSError."""
    call_in_child(lambda: lock_range(open_file("file"), kind, start, length))


@LOCK.case()
def exclude_other_process(who: Actor) -> None:
    """POSIX fcntl: a write lock keeps out any lock of another process: EAGAIN or EACCES."""
    lock_range(open_file("file"), EXCLUSIVE)
    expect_error(BUSY, lock_as_other, EXCLUSIVE)
    expect_error(BUSY, lock_as_other, SHARED)


@LOCK.case()
def share_with_other_process(who: Actor) -> None:
    """POSIX fcntl: read locks of several processes go together, and keep out write locks."""
    lock_range(open_file("file"), SHARED)
    lock_as_other(SHARED)
    expect_error(BUSY, lock_as_other, EXCLUSIVE)


@LOCK.case()
def lock_ranges(who: Actor) -> None:
    """POSIX fcntl: locks of different bytes do not conflict, those that overlap by one byte do."""
    lock_range(open_file(make_file("file", b"x" * 100)), EXCLUSIVE, 10, 10)
    lock_as_other(EXCLUSIVE, 0, 10)
    lock_as_other(EXCLUSIVE, 20, 10)
    expect_error(BUSY, lock_as_other, EXCLUSIVE, 0, 11)
    expect_error(BUSY, lock_as_other, EXCLUSIVE, 19, 1)


@LOCK.case()
def lock_beyond_end(who: Actor) -> None:
    """POSIX fcntl: bytes past the end can be locked; length 0 reaches to any offset."""
    lock_range(open_file(make_file("file", b"abc")), EXCLUSIVE, 1000, 0)
    lock_as_other(EXCLUSIVE, 0, 1000)
    expect_error(BUSY, lock_as_other, EXCLUSIVE, 1 << 40, 1)


@LOCK.case()
def unlock_part(who: Actor) -> None:
    """POSIX fcntl: a part in the middle can be unlocked; both ends stay locked."""
    number = open_file("file")
    lock_range(number, EXCLUSIVE, 0, 30)
    lock_range(number, fcntl.LOCK_UN, 10, 10)
    lock_as_other(EXCLUSIVE, 10, 10)
    expect_error(BUSY, lock_as_other, EXCLUSIVE, 0, 10)
    expect_error(BUSY, lock_as_other, EXCLUSIVE, 20, 10)


@LOCK.case()
def weaken_lock(who: Actor) -> None:
    """POSIX fcntl: a process's new lock of the same bytes replaces its old one."""
    number = open_file("file")
    lock_range(number, EXCLUSIVE)
    lock_range(number, SHARED)
    lock_as_other(SHARED)
    lock_range(number, EXCLUSIVE)
    expect_error(BUSY, lock_as_other, SHARED)


@LOCK.case()
def lose_locks_at_close(who: Actor) -> None:
    """POSIX fcntl: closing any descriptor of the file gives up all of the process's locks on it."""
    first, second = open_file("file"), open_file("file")
    lock_range(first, EXCLUSIVE)
    os.close(second)
    lock_as_other(EXCLUSIVE)


@LOCK.case()
def lose_locks_at_end(who: Actor) -> None:
    """POSIX fcntl: locks end with their process, and a child does not inherit them."""
    lock_as_other(EXCLUSIVE)
    number = open_file("file")
    lock_range(number, EXCLUSIVE)
    expect_error(BUSY, call_in_child, lambda: lock_range(number, EXCLUSIVE))


@LOCK.case()
def tell_holder(who: Actor) -> None:
    """POSIX fcntl: F_GETLK tells a lock that is in the way, with its range and process."""
    lock_range(open_file("file"), EXCLUSIVE, 10, 5)

    def ask() -> "list[int]":
        question = struct.pack(LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        return list(struct.unpack(LAYOUT, fcntl.fcntl(open_file("file"), fcntl.F_GETLK, question)))

    kind, _, start, length, holder = call_in_child(ask)
    expect_equal("type, start, length", (kind, start, length), (fcntl.F_WRLCK, 10, 5))
    expect_equal("process", holder, os.getpid())


@LOCK.case()
def wait_for_lock(who: Actor) -> None:
    """POSIX fcntl: F_SETLKW waits until the lock is free, and then has it."""
    number = open_file("file")
    lock_range(number, EXCLUSIVE)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        own = open_file("file")
        os.write(writing, b"1")
        lock_range(own, fcntl.LOCK_EX)
        os.write(writing, b"2")
        os._exit(0)
    os.read(reading, 1)
    lock_range(number, fcntl.LOCK_UN)
    expect_equal("message of the other", os.read(reading, 1), b"2")
    os.waitpid(child, 0)


@LOCK.case()
def detect_deadlock(who: Actor) -> None:
    """POSIX fcntl: a wait that would never end is EDEADLK."""
    number = open_file("file")
    lock_range(number, EXCLUSIVE, 0, 1)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        own = open_file("file")
        lock_range(own, EXCLUSIVE, 1, 1)
        os.write(writing, b"1")
        try:
            lock_range(own, fcntl.LOCK_EX, 0, 1)
        finally:
            os._exit(0)
    os.read(reading, 1)
    wait_until_blocked(child)
    expect_error(errno.EDEADLK, lock_range, number, fcntl.LOCK_EX, 1, 1)
    os.close(number)
    os.waitpid(child, 0)


def wait_until_blocked(process: int) -> None:
    """Until a process sleeps, which it does in the lock."""
    name = os.sep + os.path.join("proc", str(process), "stat")
    while os.path.exists(name):
        with open(name) as file:
            if file.read().rpartition(")")[2].split()[0] in "SD":
                return


@LOCK.case()
def lock_for_writing_by_reader(who: Actor) -> None:
    """POSIX fcntl: a write lock by a descriptor for reading, and a read lock by one for writing, is EBADF."""
    make_file("file")
    expect_error(errno.EBADF, lock_range, open_file("file", os.O_RDONLY), EXCLUSIVE)
    expect_error(errno.EBADF, lock_range, open_file("file", os.O_WRONLY), SHARED)


@LOCK.case(optional=True)
def lock_open_file_description(who: Actor) -> None:
    """fcntl(2): open file description locks conflict between two opens of one process."""
    lock = struct.pack(LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    first, second = open_file("file"), open_file("file")
    try:
        fcntl.fcntl(first, F_OFD_SETLK, lock)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Unsupported("F_OFD_SETLK is EINVAL") from error
        raise
    expect_error(BUSY, fcntl.fcntl, second, F_OFD_SETLK, lock)
    os.close(first)
    fcntl.fcntl(second, F_OFD_SETLK, lock)


def flock_as_other(kind: int) -> None:
    """flock by another process. Raises OSError."""
    call_in_child(lambda: fcntl.flock(open_file("file"), kind))


@FLOCK.case()
def exclude_by_flock(who: Actor) -> None:
    """flock(2): an exclusive lock keeps out another process's: EWOULDBLOCK."""
    fcntl.flock(open_file("file"), EXCLUSIVE)
    expect_error(errno.EWOULDBLOCK, flock_as_other, EXCLUSIVE)
    expect_error(errno.EWOULDBLOCK, flock_as_other, SHARED)


@FLOCK.case()
def share_by_flock(who: Actor) -> None:
    """flock(2): shared locks go together and keep out exclusive ones."""
    fcntl.flock(open_file("file"), SHARED)
    flock_as_other(SHARED)
    expect_error(errno.EWOULDBLOCK, flock_as_other, EXCLUSIVE)


@FLOCK.case()
def conflict_within_process(who: Actor) -> None:
    """flock(2): two opens of one process conflict; a duplicate and a child share the lock."""
    first, second = open_file("file"), open_file("file")
    fcntl.flock(first, EXCLUSIVE)
    expect_error(errno.EWOULDBLOCK, fcntl.flock, second, EXCLUSIVE)
    fcntl.flock(os.dup(first), EXCLUSIVE)
    call_in_child(lambda: fcntl.flock(first, EXCLUSIVE))


@FLOCK.case()
def unlock_flock(who: Actor) -> None:
    """flock(2): LOCK_UN and the close of the last duplicate give the lock up."""
    number = open_file("file")
    fcntl.flock(number, EXCLUSIVE)
    fcntl.flock(number, fcntl.LOCK_UN)
    flock_as_other(EXCLUSIVE)
    fcntl.flock(number, EXCLUSIVE)
    os.close(number)
    flock_as_other(EXCLUSIVE)


@FLOCK.case()
def convert_flock(who: Actor) -> None:
    """flock(2): a lock is changed from exclusive to shared and back."""
    number = open_file("file")
    fcntl.flock(number, EXCLUSIVE)
    fcntl.flock(number, SHARED)
    flock_as_other(SHARED)
    fcntl.flock(number, EXCLUSIVE)
    expect_error(errno.EWOULDBLOCK, flock_as_other, SHARED)
