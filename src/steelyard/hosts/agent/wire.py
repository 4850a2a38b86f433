"""The words that go to an agent and the lines that come from it: pure, and strict.

docs/reference/agent-protocol.md lays them down. What comes from a host is believed only where it has
the form that was agreed on; all else is a WireError.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import NamedTuple

GREETING = b"steelyard-agent "
MOST_IN_REPLY = 256 << 20  # bytes
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Of a variable that any shell can set."""
_BARE = re.compile(rb"[A-Za-z0-9_\-./:,+=@%]+")
_HEADER = re.compile(rb"(0|[1-9][0-9]{0,2}) (0|[1-9][0-9]{0,9})\n")
_FRAME = re.compile(rb"([1-9][0-9]{0,5}) (0|[1-9][0-9]{0,9}) ")
_HELLO = re.compile(rb"steelyard-agent 1 (sh|probe|minder) ([!-~]{1,64}) ([!-~]{1,64})\n")
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")
_WHOLE = re.compile(r"0|[1-9][0-9]{0,18}")


class WireError(ValueError):
    """What a host sent has not the agreed form."""


class Hello(NamedTuple):
    """An agent's first line: its `kind` (sh, probe, minder), and its system and machine as uname says."""

    kind: str
    system: str
    machine: str


class Done(NamedTuple):
    """A script ended."""

    id: str
    code: int


class Started(NamedTuple):
    """A program exists, or waits for its instant."""

    id: str
    pid: int


class Failed(NamedTuple):
    """A program could not be started: what was at fault, and the name of the error number."""

    id: str
    what: str
    errno: str


class Exited(NamedTuple):
    """A program ended. Times in seconds, `peak` in bytes, instants in ns of its host's wall clock.

    A peak that `peak_is_bound` may be that of what started the program: its own is at most so much.
    """

    id: str
    code: int | None
    signal: int | None
    wall: float
    user: float
    system: float
    peak: int | None
    started: int | None
    released: int | None
    leftovers: int
    peak_is_bound: bool = False


class Say(NamedTuple):
    """Something for the log; also all that is no event, since other programs may write there too."""

    text: str


Event = Done | Started | Failed | Exited | Say


def quote(word: str) -> bytes:
    """A word as a POSIX shell reads it, on one line. Raises ValueError for one that holds a NUL."""
    raw = os.fsencode(word)
    if b"\0" in raw:
        raise ValueError(f"a word may not contain a NUL: {word!r}")
    if _BARE.fullmatch(raw):
        return raw
    return b"'" + raw.replace(b"'", b"'\\''").replace(b"\n", b"'\"$NL\"'") + b"'"


def encode_request(words: Iterable[str]) -> bytes:
    """A request."""
    return b" ".join(map(quote, words)) + b"\n"


def start_words(
    at: int | None,
    cwd: PurePath | str,
    streams: Iterable[object],
    variables: Mapping[str, str],
    argv: Iterable[str],
) -> list[str]:
    """The words of `start` after the ID; `streams` are the paths of stdin (or `-`), stdout and stderr."""
    given = [f"{name}={value}" for name, value in variables.items()]
    return ["-" if at is None else str(at), str(cwd), *map(str, streams), str(len(given)), *given, *argv]


def build_script(words: Iterable[str], script: str, **variables: str) -> str:
    """A script that begins with these words as its `$1`, `$2` …, and with these variables set.

    It becomes a word of the shell that runs it, which everybody there can see: nothing in it may be secret.
    """
    given = "".join(f"{name}={os.fsdecode(quote(value))}\n" for name, value in variables.items())
    return f"NL='\n'\n{given}set -- {os.fsdecode(encode_request(words))}{script}"


def parse_hello(raw: bytes) -> Hello:
    """An agent's first line. Raises WireError."""
    match = _HELLO.fullmatch(raw)
    if not match:
        raise WireError(f"not an agent's greeting: {raw[:80]!r}")
    return Hello(*(part.decode("ascii") for part in match.groups()))


def parse_header(raw: bytes) -> tuple[int, int]:
    """The code and the length of a reply. Raises WireError."""
    match = _HEADER.fullmatch(raw)
    if not match or int(match[2]) > MOST_IN_REPLY:
        raise WireError(f"not the header of a reply: {raw[:80]!r}")
    return int(match[1]), int(match[2])


def parse_frames(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Paths and contents in a reply to `read`. Raises WireError."""
    place = 0
    while place < len(raw):
        match = _FRAME.match(raw, place)
        if not match:
            raise WireError(f"not a frame: {raw[place : place + 80]!r}")
        name = match.end() + int(match[1])
        end = name + 1 + int(match[2])
        if raw[name : name + 1] != b"\n" or len(raw) < end:
            raise WireError(f"a frame is truncated: {raw[place : place + 80]!r}")
        yield os.fsdecode(raw[match.end() : name]), raw[name + 1 : end]
        place = end


def parse_event(raw: bytes) -> Event:
    """A line of an agent's standard error. Raises WireError for an event whose figures make no sense."""
    text = raw.decode("utf-8", "replace").rstrip("\n")
    name, *rest = text.split(" ")
    try:
        match name, rest:
            case "done", [id_, code]:
                return Done(id_, _parse_whole(code))
            case "started", [id_, pid]:
                return Started(id_, _parse_whole(pid))
            case "failed", [id_, what, errno]:
                return Failed(id_, what, errno)
            case "exited", [id_, *figures] if len(figures) == 9:
                return _parse_exited(id_, figures)
            case "say", _:
                return Say(text.partition(" ")[2])
    except WireError as error:
        raise WireError(f"{error} in {text[:200]!r}") from None
    return Say(text)


def _parse_exited(name: str, figures: list[str]) -> Exited:
    code, signal, wall, user, system, peak, started, released, leftovers = figures
    exited = Exited(
        name,
        _parse_optional(code),
        _parse_optional(signal),
        _parse_seconds(wall),
        _parse_seconds(user),
        _parse_seconds(system),
        _parse_optional(peak.removeprefix("<")),
        _parse_optional(started),
        _parse_optional(released),
        _parse_whole(leftovers),
        peak.startswith("<"),
    )
    if (exited.code is None) == (exited.signal is None):
        raise WireError("neither or both of an exit code and a signal")
    return exited


def _parse_optional(text: str) -> int | None:
    return None if text == "-" else _parse_whole(text)


def _parse_whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise WireError(f"{text[:40]!r} is not a number")
    return int(text)


def _parse_seconds(text: str) -> float:
    if text == "-":
        return math.nan
    if not _SECONDS.fullmatch(text):
        raise WireError(f"{text[:40]!r} is not a time")
    return float(text)
