"""The groups of cases, by the system call that they are about."""

from __future__ import annotations

GROUPS = {
    "open": "open and its flags",
    "read": "read, pread, readv",
    "write": "write, pwrite, writev",
    "lseek": "lseek, with holes and data",
    "truncate": "truncate, ftruncate",
    "fallocate": "posix_fallocate, fallocate",
    "link": "hard links",
    "symlink": "symbolic links",
    "unlink": "unlink, also of open files",
    "rename": "rename of files and directories",
    "mkdir": "mkdir",
    "rmdir": "rmdir",
    "readdir": "listing of directories",
    "chmod": "permissions",
    "chown": "owners and groups",
    "access": "access",
    "utimens": "setting time stamps",
    "stat": "what stat tells",
    "times": "when time stamps change",
    "mkfifo": "FIFOs and device files",
    "mmap": "mapped files",
    "sync": "fsync, fdatasync, O_SYNC",
    "xattr": "extended attributes",
    "tmpfile": "unnamed temporary files",
    "lock": "record locks of fcntl",
    "flock": "locks of flock",
    "path": "long, odd and looping names",
    "permission": "rights along a path",
}
"""Name to what it is about; the program's own tuple of groups has the same names."""
