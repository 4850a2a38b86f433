"""Calls of System V, in an IPC namespace that ends with its last process: nothing outlives a trial."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

from steelyard.workloads.checkpoint.program.faults import CheckpointFault

NEW_IPC, NEW_USER = 0x08000000, 0x10000000
FAILED = ctypes.c_void_p(-1).value  # as shmat says it
ADVICE = "run as root, or on a host that permits user namespaces (user.max_user_namespaces)"


@cache
def load_libc() -> ctypes.CDLL:
    """Once, as a queue takes thousands of calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.msgrcv.restype = ctypes.c_ssize_t
    return libc


def call(about: str, name: str, *arguments: Any) -> int:
    """What a call of the C library returns. Raises OSError, which names what the call is about."""
    result: int = getattr(load_libc(), name)(*arguments)
    if result in {-1, FAILED}:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"{about} ({name})")
    return result


def enter_own_namespace() -> None:
    """Have objects apart from those of the host, with the kernel's own limits. Raises CheckpointFault."""
    try:
        call("namespace", "unshare", ctypes.c_int(NEW_IPC))
    except OSError:
        try:
            call("namespace", "unshare", ctypes.c_int(NEW_IPC | NEW_USER))
        except OSError as error:
            raise CheckpointFault(
                f"cannot have an IPC namespace of its own: {error.strerror}; {ADVICE}"
            ) from error


def check_limit(what: str, asked: int, limit: str, field: int, advice: str) -> None:
    """Compare with a limit of this namespace. Raises CheckpointFault that names both."""
    with open(f"/proc/sys/kernel/{limit}") as file:
        permitted = int(file.read().split()[field])
    if asked > permitted:
        raise CheckpointFault(
            f"{what}: {asked} is more than the {permitted} that the kernel permits ({limit}); {advice}"
        )


def read_column(table: str, number: int, column: str) -> int:
    """What the kernel tells of an object of this namespace. Raises OSError."""
    with open(f"/proc/sysvipc/{table}") as file:
        names = file.readline().split()
        for line in file:
            values = dict(zip(names, line.split()))
            if int(values[names[1]]) == number:
                return int(values[column])
    raise FileNotFoundError(f"there is no object {number} in /proc/sysvipc/{table}")
