"""What cases are made of: groups, what a case may expect, and how a failure is told."""

import errno
import json
import os
import stat
import time
from typing import Any, Callable, NamedTuple

UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOTTY)


class Mismatch(Exception):
    """Something was other than a case expects. `code` is the error that a call gave, if one did."""

    def __init__(self, what: str, expected: str, got: str, code: int = 0) -> None:
        super().__init__(what, expected, got, code)
        self.what, self.expected, self.got, self.code = what, expected, got, code


class Unsupported(Exception):
    """The system says that it lacks an optional feature."""


class NotApplicable(Exception):
    """The case cannot be tried here, whatever the file system does."""


class Actor(NamedTuple):
    """Who a case runs as, and whom it may mention: users and groups that nobody on the host has."""

    uid: int
    gid: int
    other_uid: int
    other_gid: int
    extra_gid: int  # a supplementary group of this identity

    @property
    def is_root(self) -> bool:
        """Whether it may do everything."""
        return self.uid == 0


class PosixCase(NamedTuple):
    """A case. `who` is `any`, `root` or `user`; an `optional` feature may be declared unsupported."""

    group: str
    name: str
    text: str
    body: "Callable[[Actor], None]"
    who: str
    optional: bool


class CaseGroup:
    """The cases of a system call."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cases: "list[PosixCase]" = []

    def case(self, who: str = "any", optional: bool = False) -> "Callable[[Any], Any]":
        """Add the function that follows; its docstring reads `source: what must be so.`"""

        def add(body: "Callable[[Actor], None]") -> "Callable[[Actor], None]":
            text = " ".join((body.__doc__ or "").split())
            self.cases.append(PosixCase(self.name, body.__name__, text, body, who, optional))
            return body

        return add


def name_errors(*codes: int) -> str:
    """`EEXIST or ENOTEMPTY`."""
    return " or ".join(errno.errorcode.get(code, str(code)) for code in codes)


def expect_error(
    codes: "int | tuple[int, ...]", call: "Callable[..., Any]", *args: Any, **keywords: Any
) -> None:
    """Call a function that must fail with one of these errors. Raises Mismatch."""
    wanted = codes if isinstance(codes, tuple) else (codes,)
    shown = ", ".join([repr(each)[:40] for each in args])
    what = "{}({})".format(getattr(call, "__name__", "call"), shown)
    try:
        call(*args, **keywords)
    except OSError as error:
        if error.errno in wanted:
            return
        code = error.errno or 0
        raise Mismatch(what, name_errors(*wanted), name_errors(code), code) from error
    raise Mismatch(what, name_errors(*wanted), "success")


def expect_equal(what: str, got: Any, expected: Any) -> None:
    """Raises Mismatch."""
    if got != expected:
        raise Mismatch(what, shorten(expected), shorten(got))


def expect_true(what: str, holds: bool, got: Any = False) -> None:
    """Raises Mismatch."""
    if not holds:
        raise Mismatch(what, "true", shorten(got))


def shorten(value: Any) -> str:
    """A value as Python writes it, at most so long as a line."""
    text = repr(value)
    return text if len(text) <= 100 else text[:80] + "..." + text[-15:]


def open_file(name: str, flags: int = os.O_RDWR | os.O_CREAT, mode: int = 0o644) -> int:
    """A descriptor. The end of the case's process closes it."""
    return os.open(name, flags, mode)


def make_file(name: str, data: bytes = b"", mode: int = 0o644) -> str:
    """A new file with this content; its name."""
    number = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]
    os.close(number)
    return name


def make_directory(name: str, mode: int = 0o755) -> str:
    """A new directory; its name."""
    os.mkdir(name, mode)
    return name


def make_link(target: str, name: str) -> str:
    """A new symbolic link; its name."""
    os.symlink(target, name)
    return name


def read_content(name: str) -> bytes:
    """All bytes of a file."""
    with open(name, "rb") as file:
        return file.read()


def mode_bits(name: str) -> int:
    """Permissions with set-user-ID, set-group-ID and sticky bits."""
    return stat.S_IMODE(os.lstat(name).st_mode)


def exists(name: str) -> bool:
    """Whether a directory entry is there, a dangling link too."""
    return os.path.lexists(name)


def wait_for_clock(after: int) -> None:
    """Until the file system's clock is past this time stamp (ns), as a write of now shows; 3 s at most."""
    number = os.open(".clock", os.O_WRONLY | os.O_CREAT, 0o600)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        os.pwrite(number, b"x", 0)
        if os.fstat(number).st_mtime_ns > after:
            break
        time.sleep(0.002)
    os.close(number)
    os.unlink(".clock")


def call_in_child(function: "Callable[[], Any]", identity: "Actor | None" = None, uid: int = 0) -> Any:
    """What a function gives in a process of its own, as user `uid` if an identity (root's) is given.

    What it raises there is raised here: OSError and Mismatch.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _answer(function, identity, uid, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    answer = json.loads(text.decode() or '{"mismatch": ["the process", "an answer", "its end", 0]}')
    if "mismatch" in answer:
        raise Mismatch(*answer["mismatch"])
    if "errno" in answer:
        raise OSError(answer["errno"], os.strerror(answer["errno"]))
    return answer["value"]


def _answer(function: "Callable[[], Any]", identity: "Actor | None", uid: int, writing: int) -> None:
    try:
        if identity is not None:
            become_user(uid, identity.other_gid, ())
        answer = {"value": function()}
    except OSError as error:
        answer = {"errno": error.errno}
    except Mismatch as error:
        answer = {"mismatch": [error.what, error.expected, error.got, error.code]}
    except BaseException as error:  # the process must end here whatever happens
        answer = {"mismatch": ["the process", "an answer", repr(error)[:200], 0]}
    os.write(writing, json.dumps(answer).encode())
    os._exit(0)


def become_user(uid: int, gid: int, groups: "tuple[int, ...]") -> None:
    """Give up root for good."""
    os.setgroups(list(groups))
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
