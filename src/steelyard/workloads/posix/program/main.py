"""Runs the cases of the groups that are asked for, and prints a line of JSON."""

import errno
import grp
import json
import os
import pwd
import sys
from typing import Any, Callable

from steelyard.workloads.posix.program.directory_cases import MKDIR, RMDIR
from steelyard.workloads.posix.program.fallocate_cases import FALLOCATE
from steelyard.workloads.posix.program.harness import Actor, PosixCase, name_errors
from steelyard.workloads.posix.program.lock_cases import FLOCK, LOCK
from steelyard.workloads.posix.program.name_cases import LINK, SYMLINK
from steelyard.workloads.posix.program.open_cases import OPEN
from steelyard.workloads.posix.program.owner_cases import ACCESS, CHMOD, CHOWN
from steelyard.workloads.posix.program.path_cases import PATH
from steelyard.workloads.posix.program.permission_cases import PERMISSION
from steelyard.workloads.posix.program.readdir_cases import READDIR
from steelyard.workloads.posix.program.rename_cases import RENAME
from steelyard.workloads.posix.program.runner import run_cases
from steelyard.workloads.posix.program.size_cases import LSEEK, TRUNCATE
from steelyard.workloads.posix.program.special_cases import MKFIFO, MMAP, SYNC
from steelyard.workloads.posix.program.stat_cases import STAT
from steelyard.workloads.posix.program.time_cases import TIMES, UTIMENS
from steelyard.workloads.posix.program.transfer_cases import READ, WRITE
from steelyard.workloads.posix.program.unlink_cases import UNLINK
from steelyard.workloads.posix.program.xattr_cases import TMPFILE, XATTR

GROUPS = (
    *(OPEN, READ, WRITE, LSEEK, TRUNCATE, FALLOCATE, LINK, SYMLINK, UNLINK, RENAME, MKDIR, RMDIR, READDIR),
    *(CHMOD, CHOWN, ACCESS, UTIMENS, STAT, TIMES, MKFIFO, MMAP, SYNC, XATTR, TMPFILE, LOCK, FLOCK),
    *(PATH, PERMISSION),
)
FIRST_ID = 64100  # users and groups from here on that the host does not know


def find_free(known: "Callable[[int], Any]", count: int) -> "list[int]":
    """Numbers that no user or group of the host has."""
    free: "list[int]" = []
    number = FIRST_ID
    while len(free) < count:
        try:
            known(number)
        except KeyError:
            free.append(number)
        number += 1
    return free


def find_identities() -> "dict[str, Actor]":
    """Whom cases can run as here: `root` and `user`, or this user alone."""
    users, groups = find_free(pwd.getpwuid, 2), find_free(grp.getgrgid, 3)
    if os.geteuid() == 0:
        root = Actor(0, os.getegid(), users[1], groups[1], groups[2])
        return {"root": root, "user": Actor(users[0], groups[0], users[1], groups[1], groups[2])}
    return {"user": Actor(os.geteuid(), os.getegid(), users[1], groups[1], groups[2])}


def find_obstacle(who: Actor) -> str:
    """Why cases cannot run as this identity here; empty if they can."""

    def try_it(case: Actor) -> None:
        os.close(os.open("file", os.O_CREAT | os.O_RDWR, 0o644))
        if case.is_root:
            os.chown("file", case.other_uid, case.other_gid)

    try:
        answer = run_cases([PosixCase("", "", "", try_it, "any", False)], who, 20)[0]
    except OSError as error:
        return "a directory cannot be given to a user: " + name_errors(error.errno or 0)
    return "" if answer["outcome"] == "passed" else str(answer["got"]) or "no answer"


def choose_cases(asked: "dict[str, Any]", role: str) -> "list[PosixCase]":
    """The cases of the groups asked for that are for this identity."""
    groups = [group for group in GROUPS if group.name in asked["groups"]]
    return [case for group in groups for case in group.cases if case.who in ("any", role)]


def run_all(asked: "dict[str, Any]") -> "dict[str, Any]":
    """Every case asked for, once for each identity asked for, and how it ended."""
    identities = find_identities()
    obstacles, results = {}, []
    for role in {"both": ("root", "user")}.get(asked["as"], (asked["as"],)):
        cases = choose_cases(asked, role)
        obstacle = (
            find_obstacle(identities[role]) if role in identities else "the program does not run as root"
        )
        if obstacle:
            obstacles[role] = obstacle
            answers = [{"outcome": "not_applicable", "got": obstacle}] * len(cases)
        else:
            answers = run_cases(cases, identities[role], asked["case_timeout"])
        results += [describe(case, role, answer) for case, answer in zip(cases, answers)]  # noqa: B905 - Python 3.6 has no `strict`
    return {"obstacles": obstacles, "results": results}


def describe(case: PosixCase, role: str, answer: "dict[str, Any]") -> "dict[str, Any]":
    """A case with its answer; the rule that it follows where it did not pass."""
    about = {"group": case.group, "case": case.name, "as": role}
    return {**about, **answer} if answer["outcome"] == "passed" else {**about, "rule": case.text, **answer}


def main() -> None:
    """Do what the first argument, JSON, asks for, in the current directory."""
    if not sys.platform.startswith("linux"):
        sys.exit("the cases are those of Linux, and this is " + sys.platform)
    try:
        result = run_all(json.loads(sys.argv[1]))
    except OSError as error:
        sys.exit("{}: {}".format(errno.errorcode.get(error.errno or 0, "error"), error))
    print(json.dumps({**result, "python": sys.version.split()[0]}), flush=True)


if __name__ == "__main__":
    main()
