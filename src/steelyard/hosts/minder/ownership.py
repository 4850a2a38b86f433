"""Whether a path is ours to rely on: nobody but us and root can replace what lies there.

The whole way counts, from `/` on, with links followed by hand: whoever may write to a directory on it may put
something else in the place of all that comes after. Exceptions are directories that the user trusts
(`steelyard trust`): what lies in them is as if it were ours.
"""

# Importing pathlib would take 4 ms.
# ruff: noqa: PTH111, PTH115, PTH118, PTH120
from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False  # importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_LINKS = 40  # as in Linux: path_resolution(7)
MOST_TRUSTED = 1 << 16  # bytes of the list of trusted directories


def find_untrusted_entry(path: str, *, shared: bool = False) -> str | None:
    """Say how somebody but us and root could replace what lies at an absolute path; None where nobody can.

    Of a path that is not there yet, the nearest directory that is counts. With `shared` that may be a sticky
    one to which everybody may write: what we make in it stays ours. Raises OSError.
    """
    reasons, last = [], None
    for last in _walk_path(path):
        reasons += [(last[0], reason) for reason in _reasons(*last)]
    place, status = last or ("/", os.lstat("/"))
    if not shared and not reasons and may_others_write(place, status):
        reasons.append((place, "others may write to it"))
    if not reasons:
        return None
    trusted = [each for each in trusted_directories() if _is_inside(place, each)]
    left = (f"{entry}: {reason}" for entry, reason in reasons if not _is_covered(entry, trusted))
    return next(left, None)


def may_others_write(path: str, status: os.stat_result) -> bool:
    """Whether somebody but its owner and root may write to a file or directory."""
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        return False
    return bool(mode & stat.S_IWOTH) or (
        bool(mode & stat.S_IWGRP) and (_has_acl(path) or has_others(status.st_gid))
    )


def has_others(group: int) -> bool:
    """Whether somebody but us may be a member of a group.

    A directory service need not list whose own group it is, so our own one must be named as we are.
    """
    import grp
    import pwd

    try:
        entry, me = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    if set(entry.gr_mem) - {me.pw_name, "root"}:
        return True
    if group == 0:
        return False
    its_own = (each.pw_uid for each in pwd.getpwall() if each.pw_gid == group)
    return bool(set(its_own) - {0, me.pw_uid}) or (me.pw_gid == group and entry.gr_name != me.pw_name)


def trusted_directories() -> list[str]:
    """The directories that the user said to trust; none where somebody else may have written the list."""
    try:
        file = os.open(trust_list(), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        status = os.fstat(file)
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not ours or may_others_write(f"/proc/self/fd/{file}", status):
            return []
        text = os.read(file, MOST_TRUSTED).decode("utf-8", "surrogateescape")
    finally:
        os.close(file)
    return [line for line in text.split("\n") if line.startswith("/")]


def trust_list() -> str:
    """Where these directories are listed, each on a line."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return f"{home}/steelyard/trusted"


def _reasons(entry: str, status: os.stat_result) -> Iterator[str]:
    """What is wrong with an entry on the way: its owner may replace it, others may put something into it."""
    if status.st_uid not in (0, os.geteuid()) and not _is_unmapped_root(status):
        yield f"it belongs to {_name(status.st_uid)}"
    elif may_others_write(entry, status) and not (
        stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    ):
        yield "others may write to it"


def _is_unmapped_root(status: os.stat_result) -> bool:
    """Whether it may be of a root whom our user namespace does not know: then all strangers look alike."""
    with open("/proc/self/uid_map") as table, open("/proc/sys/kernel/overflowuid") as number:  # noqa: PTH123
        partial = not any(line.split()[1] == "0" for line in table)
        return partial and status.st_uid == int(number.read()) and not stat.S_ISREG(status.st_mode)


def _name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _has_acl(path: str) -> bool:
    """Whether an access list lets others in as well: its mask is what shows as the group's rights."""
    try:
        return bool(os.getxattr(path, "system.posix_acl_access"))
    except OSError:
        return False


def _is_covered(entry: str, trusted: list[str]) -> bool:
    return any(_is_inside(entry, each) or _is_inside(each, entry) for each in trusted)


def _is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _walk_path(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry on the way to a path, as far as it is there: directories, links, what they lead to."""
    place, links, ahead = "/", 0, path.split("/")[::-1]
    yield place, os.lstat(place)
    while ahead:
        name = ahead.pop()
        if name in ("", "."):
            continue
        if name == "..":
            place = os.path.dirname(place)
            yield place, os.lstat(place)
            continue
        entry = os.path.join(place, name)
        try:
            status = os.lstat(entry)
        except FileNotFoundError:
            return
        yield entry, status
        if not stat.S_ISLNK(status.st_mode):
            place = entry
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(entry)
        place, ahead = ("/" if target.startswith("/") else place), ahead + target.split("/")[::-1]
