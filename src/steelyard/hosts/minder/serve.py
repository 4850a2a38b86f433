"""The minder's loop: it waits on the lease and on its children, all in one poll."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import time
from contextlib import suppress

from . import CHILD_VARIABLE, TOKEN_VARIABLE
from .child import LONGEST_PAUSE, PAUSE, Child
from .outbox import Outbox
from .processes import (
    ProcessStat,
    descendants,
    find_variable,
    kill_all,
    list_processes,
    read_environment,
    read_proc,
    reap,
    send,
)
from .scratch import make_scratch, remove_scratch
from .spawn import Spawner, SpawnError, attempt, open_pidfd
from .words import split_words

TYPE_CHECKING = False  # importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LEASE, REPLIES, EVENTS = 0, 1, 2
MESSAGE_LIMIT = 64 << 20  # bytes
PR_SET_CHILD_SUBREAPER = 36
NOT_FOR_US = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Minder:
    """Serves one lease."""

    def __init__(self, token: str) -> None:
        self.token, self.spawner = token, Spawner()
        self.children: dict[str, Child] = {}
        self.environment = dict(os.environb)
        self.scratch: dict[bytes, bytes] = {}  # path to mark
        self.settings: dict[bytes, bytes] = {}  # path of a file of the kernel to what it is to say again
        self.inbox, self.poll = b"", select.poll()
        self.poll.register(LEASE, select.POLLIN)
        self.outboxes = {stream: Outbox(stream, self.poll) for stream in (REPLIES, EVENTS)}
        self.alarms: set[int] = set()
        self.verbs: dict[bytes, Callable[..., None]] = {
            b"start": self.start,
            b"kill": self.kill,
            b"scratch": self.remember_scratch,
            b"forget": self.forget_scratch,
            b"restore": self.remember_setting,
        }

    def watch_descriptor(self, fd: int) -> None:
        """Take news from this descriptor for the end of the lease."""
        self.poll.register(fd, select.POLLIN)
        self.alarms.add(fd)

    def serve(self) -> None:
        """Do what the controller asks for until the lease is over."""
        machine = os.uname()
        hello = f"steelyard-agent 1 minder {machine.sysname} {machine.machine}\n"
        self.outboxes[REPLIES].send(hello.encode())
        while True:
            ready = [fd for fd, _ in self.poll.poll(self.poll_timeout())]
            for stream in self.outboxes.keys() & ready:
                self.outboxes[stream].resume()
            reap(self.record_death)
            if self.alarms.intersection(ready) or (LEASE in ready and not self.listen()):
                return
            for child in list(self.children.values()):
                if child.result or time.monotonic() >= child.deadline:
                    self.finish_child(child)

    def poll_timeout(self) -> float | None:
        """Return how long the poll may take, in milliseconds; None for ever."""
        now = time.monotonic()
        return min((child.next_look(now) * 1000 for child in self.children.values()), default=None)

    # The lease ------------------------------------------------------------------------------------------

    def listen(self) -> bool:
        """Take in what the controller sent; False at the end of the lease. Raises what makes no sense."""
        try:
            data = os.read(LEASE, 1 << 16)
        except BlockingIOError:
            return True
        *lines, self.inbox = (self.inbox + data).split(b"\n")
        for line in lines:
            verb, *words = split_words(line)
            self.verbs[verb](*words)
        return bool(data) and len(self.inbox) <= MESSAGE_LIMIT

    def reply(self, code: int = 0, content: bytes = b"") -> None:
        """Answer a request."""
        self.outboxes[REPLIES].send(b"%d %d\n%b" % (code, len(content), content))

    def tell(self, event: str) -> None:
        """Say what happened."""
        self.outboxes[EVENTS].send(f"{event}\n".encode())

    # What a controller may ask for ----------------------------------------------------------------------

    def start(self, id_: bytes, at: bytes, cwd: bytes, *words: bytes) -> None:
        """Start a child; say that it is there, or why not."""
        if at != b"-":
            raise ValueError("a gate in front of the program waits for the instant, not the minder")
        started, clock = time.time_ns(), time.monotonic()
        paths = tuple(os.devnull.encode() if path == b"-" else path for path in words[:3])
        count, rest = int(words[3]), list(words[4:])
        marks = (
            b"%b=%b" % (TOKEN_VARIABLE.encode(), os.fsencode(self.token)),
            b"%b=%b" % (CHILD_VARIABLE.encode(), id_),
        )
        variables = dict(each.split(b"=", 1) for each in (*rest[:count], *marks))
        try:
            pid, least_peak = self.spawner.spawn(rest[count:], self.environment | variables, cwd, paths)
            pidfd = attempt("program", open_pidfd, pid)
        except SpawnError as refusal:
            reason = errno.errorcode.get(refusal.errno, "EIO")
            self.reply()
            self.tell(f"failed {id_.decode()} {refusal.what} {reason}")
            return
        child = Child(id_.decode(), pid, pidfd, least_peak, started, clock)
        self.children[child.name] = child
        self.poll.register(pidfd, select.POLLIN)
        self.reply()  # only now: so the controller is woken once for both
        self.tell(f"started {child.name} {pid}")

    def kill(self, id_: bytes, grace: bytes) -> None:
        """Ask a child and all below it to end, within a grace in seconds."""
        self.reply()
        child = self.children.get(id_.decode())
        if child is None:
            return  # it has just ended by itself
        child.deadline = min(child.deadline, time.monotonic() + float(grace))
        child.killed = True
        for pid in self.list_tree(child):
            with suppress(PermissionError):
                send(pid, signal.SIGTERM)
                send(pid, signal.SIGCONT)  # a stopped process would not hear the other

    def remember_scratch(self, path: bytes, mark: bytes) -> None:
        """Note a directory to be removed when the lease ends, and create it when it is not there.

        A controller that created it could be killed between mkdir and marker, and the directory would stay.
        """
        self.scratch[path] = mark
        try:
            make_scratch(path, mark.decode())
        except OSError as error:
            del self.scratch[path]
            self.reply(1, (error.strerror or str(error)).encode())
        else:
            self.reply()

    def forget_scratch(self, path: bytes) -> None:
        """Leave a directory to the controller."""
        self.scratch.pop(path, None)
        self.reply()

    def remember_setting(self, path: bytes, value: bytes) -> None:
        """Note what a file of the kernel is to say again when the lease ends; an empty value: no longer."""
        self.settings.pop(path, None)
        if value:
            self.settings[path] = value
        self.reply()

    # The end of a child ---------------------------------------------------------------------------------

    def record_death(self, pid: int, status: int, usage: Any) -> None:
        """Take note of a death, if it is that of a child; other dead are orphans that came to us."""
        now = time.monotonic()
        for child in self.children.values():
            if child.pid == pid and not child.result:
                self.poll.unregister(child.pidfd)
                os.close(child.pidfd)
                child.record_exit(status, usage, now)

    def finish_child(self, child: Child) -> None:
        """End what is left of a child whose time is over, and report its exit when nothing is."""
        left = self.list_tree(child)
        if left and time.monotonic() >= child.deadline:
            left = kill_all(lambda: self.list_tree(child), send)
            child.pause = min(child.pause * 2, LONGEST_PAUSE)
            child.leftovers += len(left - child.struck) if child.result else 0
            child.struck |= left
        if child.result and not left:
            del self.children[child.name]
            self.tell(child.describe_exit())

    def list_tree(self, child: Child) -> set[int]:
        """Return the pids of a child and all its descendants, also of those whose parents are gone."""
        if child.result and not self.has_orphans():
            return set()
        table, me = list_processes(), os.getpid()
        owners = {each.pid: each for each in self.children.values()}
        mine = [each for each in table.values() if each.parent == me]
        roots = [each.pid for each in mine if self.find_owner(each, owners, child) is child]
        # The dead are collected by their parent, or by us once the parent is killed.
        return {pid for pid in descendants(table, roots) if not table[pid].is_dead or table[pid].parent == me}

    def has_orphans(self) -> bool:
        """Say whether there may be processes below us other than running children and what is below them."""
        if not reap(self.record_death):
            return False
        running = {child.pid for child in self.children.values() if not child.result}
        # Absent where the kernel was built without CONFIG_PROC_CHILDREN: then all of /proc is looked at.
        listed = read_proc(f"/proc/self/task/{os.getpid()}/children", 1 << 20).split()
        return not listed or not running.issuperset(map(int, listed))

    def find_owner(self, mine: ProcessStat, owners: dict[int, Child], ending: Child) -> Child | None:
        """Return the child that one of our direct children is, or from which it came, should it be an orphan.

        Its session or its environment tells. One whose child is gone already goes with the child that is
        ending now, and one that hides both with the last child there is.
        """
        if child := owners.get(mine.pid) or owners.get(mine.session):
            return child
        environ = read_environment(mine.pid)
        if find_variable(environ, TOKEN_VARIABLE) == self.token:
            return self.children.get(find_variable(environ, CHILD_VARIABLE) or "", ending)
        return ending if len(self.children) == 1 else None

    # The end of all -------------------------------------------------------------------------------------

    def end(self) -> None:
        """End every descendant, again until none is left, then put settings back and remove directories."""
        me, pause = os.getpid(), PAUSE
        while reap(lambda *_: None):
            if not kill_all(lambda: descendants(list_processes(), [me]) - {me}, send):
                break  # only programs of other users are left
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        for path, value in self.settings.items():
            with suppress(OSError):
                fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
                os.write(fd, value)
                os.close(fd)
        for path, mark in self.scratch.items():
            with suppress(OSError):  # what stays is found by its marker
                remove_scratch(path, mark.decode().__eq__)


def prepare() -> int:
    """Make this process a minder; return a descriptor that becomes readable when SIGTERM comes."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - importing pathlib takes 4 ms
        if int(name) > 2:  # whatever a careless controller let through
            os.closerange(int(name), int(name) + 1)
    for stream in (LEASE, REPLIES, EVENTS):
        os.set_blocking(stream, False)
    os.chdir("/")
    for number in NOT_FOR_US:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    heard, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("this kernel does not support child subreapers (prctl)")
    return heard


def main(token: str) -> None:
    """Serve the lease on standard input for the run and the controller that the token names."""
    sigterm = prepare()
    minder = Minder(token)
    try:
        minder.watch_descriptor(sigterm)
        # A forked copy of the controller could hold the lease open for ever.
        minder.watch_descriptor(os.pidfd_open(int(token.split(":")[2])))
        minder.serve()
    except (ConnectionError, ProcessLookupError):
        pass  # the controller is gone
    finally:
        minder.end()
