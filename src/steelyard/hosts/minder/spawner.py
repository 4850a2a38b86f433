"""The small program between the minder and what it starts, so that `peak_memory` counts nothing of ours.

The kernel counts what a process was before its exec as its own peak (fs/exec.c, exec_mmap), and a minder is
ten times as large as a small program. So the minder starts these few instructions, less than a page, which
fork: what comes out has the minder as its parent (CLONE_PARENT), a session of its own, and hardly any memory
when it becomes the program. On a computer of another kind, or where no memory file may be run, the minder
starts programs itself, and says that their peak is a bound.

Its words are PROGRAM WORD…, with the path of the program in the place of its own name. It tells through
descriptor 3, in 4 bytes each, the pid of the program, and what was wrong (a negative errno) where that could
not begin. CODE has each instruction beside its bytes; a test holds one against the other.
"""

from __future__ import annotations

import os
from contextlib import suppress

MFD_EXEC = 0x10  # since Linux 6.3 a memory file says whether it is to be run
PLACE = 0x400000  # where in memory it lies
WORD = 4

X86_64 = (
    ("bf03000000", "mov edi, 3"),
    ("be02000000", "mov esi, 2"),
    ("ba01000000", "mov edx, 1"),
    ("b848000000", "mov eax, 72"),  # fcntl(3, F_SETFD, FD_CLOEXEC)
    ("0f05", "syscall"),
    ("bf11800000", "mov edi, 0x8011"),
    ("31f6", "xor esi, esi"),
    ("31d2", "xor edx, edx"),
    ("4531d2", "xor r10d, r10d"),
    ("4531c0", "xor r8d, r8d"),
    ("b838000000", "mov eax, 56"),  # clone(CLONE_PARENT | SIGCHLD)
    ("0f05", "syscall"),
    ("85c0", "test eax, eax"),
    ("740e", "jz child"),
    ("e83b000000", "call tell"),
    ("31ff", "xor edi, edi"),
    ("b83c000000", "mov eax, 60"),  # _exit(0)
    ("0f05", "syscall"),
    ("b870000000", "child: mov eax, 112"),  # setsid()
    ("0f05", "syscall"),
    ("488b0c24", "mov rcx, [rsp]"),
    ("488b7c2408", "mov rdi, [rsp+8]"),
    ("488d742410", "lea rsi, [rsp+16]"),
    ("488d54cc10", "lea rdx, [rsp+rcx*8+16]"),
    ("b83b000000", "mov eax, 59"),  # execve(words[0], words + 1, environment)
    ("0f05", "syscall"),
    ("e80c000000", "call tell"),
    ("bf7f000000", "mov edi, 127"),
    ("b83c000000", "mov eax, 60"),
    ("0f05", "syscall"),
    ("50", "tell: push rax"),
    ("bf03000000", "mov edi, 3"),
    ("4889e6", "mov rsi, rsp"),
    ("ba04000000", "mov edx, 4"),
    ("b801000000", "mov eax, 1"),  # write(3, what the last call returned, 4)
    ("0f05", "syscall"),
    ("58", "pop rax"),
    ("c3", "ret"),
)
AARCH64 = (
    ("600080d2", "mov x0, #3"),
    ("410080d2", "mov x1, #2"),
    ("220080d2", "mov x2, #1"),
    ("280380d2", "mov x8, #25"),  # fcntl(3, F_SETFD, FD_CLOEXEC)
    ("010000d4", "svc #0"),
    ("200290d2", "mov x0, #0x8011"),
    ("010080d2", "mov x1, #0"),
    ("020080d2", "mov x2, #0"),
    ("030080d2", "mov x3, #0"),
    ("040080d2", "mov x4, #0"),
    ("881b80d2", "mov x8, #220"),  # clone(CLONE_PARENT | SIGCHLD)
    ("010000d4", "svc #0"),
    ("a00000b4", "cbz x0, child"),
    ("10000094", "bl tell"),
    ("000080d2", "mov x0, #0"),
    ("a80b80d2", "mov x8, #93"),  # _exit(0)
    ("010000d4", "svc #0"),
    ("a81380d2", "child: mov x8, #157"),  # setsid()
    ("010000d4", "svc #0"),
    ("e90340f9", "ldr x9, [sp]"),
    ("e00740f9", "ldr x0, [sp, #8]"),
    ("e1430091", "add x1, sp, #16"),
    ("220c098b", "add x2, x1, x9, lsl #3"),
    ("a81b80d2", "mov x8, #221"),  # execve(words[0], words + 1, environment)
    ("010000d4", "svc #0"),
    ("04000094", "bl tell"),
    ("e00f80d2", "mov x0, #127"),
    ("a80b80d2", "mov x8, #93"),
    ("010000d4", "svc #0"),
    ("e00f1ff8", "tell: str x0, [sp, #-16]!"),
    ("600080d2", "mov x0, #3"),
    ("e1030091", "mov x1, sp"),
    ("820080d2", "mov x2, #4"),
    ("080880d2", "mov x8, #64"),  # write(3, what the last call returned, 4)
    ("010000d4", "svc #0"),
    ("ff430091", "add sp, sp, #16"),
    ("c0035fd6", "ret"),
)

CODE = {"x86_64": (62, X86_64), "aarch64": (183, AARCH64)}  # with the number of the machine in elf(5)


def make_spawner() -> int | None:
    """Return a descriptor of the program; None on a computer whose instructions it does not have."""
    number, code = CODE.get(os.uname().machine, (0, ()))
    if not code:
        return None
    for flags in (os.MFD_CLOEXEC | MFD_EXEC, os.MFD_CLOEXEC):
        with suppress(OSError):
            fd = os.memfd_create("steelyard-spawn", flags)
            os.write(fd, build_executable(number, b"".join(bytes.fromhex(each) for each, _ in code)))
            return fd
    return None


def build_executable(machine: int, code: bytes) -> bytes:
    """Return a static program: the headers of the file, of its one segment and of a plain stack; code."""
    begin = 64 + 2 * 56
    size = begin + len(code)
    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + pack_numbers(2, 2, machine) + pack_numbers(4, 1)
    head += pack_numbers(8, PLACE + begin, 64, 0) + pack_numbers(4, 0) + pack_numbers(2, 64, 56, 2, 64, 0, 0)
    segment = pack_numbers(4, 1, 5) + pack_numbers(8, 0, PLACE, PLACE, size, size, 1 << 16)
    stack = pack_numbers(4, 0x6474E551, 6) + pack_numbers(8, 0, 0, 0, 0, 0, 16)
    return head + segment + stack + code


def pack_numbers(width: int, *values: int) -> bytes:
    """Return numbers of so many bytes each, as both machines write them."""
    return b"".join(value.to_bytes(width, "little") for value in values)


def read_numbers(fd: int) -> list[int]:
    """Return all numbers that it told, once the program has begun or failed to; close the descriptor."""
    told = b""
    while part := os.read(fd, 64):
        told += part
    os.close(fd)
    return [int.from_bytes(told[at : at + WORD], "little", signed=True) for at in range(0, len(told), WORD)]
