"""Lists of hosts and spans of time as schedulers write them. Pure; every function raises ParseFailure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from steelyard.errors import ParseFailure

MOST_HOSTS = 200_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PIECE = re.compile(r"([^,\[\]]*)(?:\[([0-9,-]+)\])?")
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(?:(\d+):)?(\d+):)?(\d+)")


def expand(text: str) -> tuple[str, ...]:
    """The hosts that `n[1-3,07],m2` stands for, in its order; several brackets in a name multiply."""
    hosts: list[str] = []
    for entry in _split_entries(text):
        hosts += _expand_entry(entry)
        if len(hosts) > MOST_HOSTS:
            raise ParseFailure(f"'{text[:60]}' stands for more than {MOST_HOSTS} hosts")
    return check_hosts(hosts, text)


def check_hosts(hosts: Iterable[str], source: str) -> tuple[str, ...]:
    """Each host once, in the order of its first appearance; refuses what cannot be a host's name."""
    unique = tuple(dict.fromkeys(hosts))
    wrong = [host for host in unique if not _NAME.fullmatch(host)]
    if wrong or not unique:
        raise ParseFailure(f"'{source[:60]}' is not a list of hosts" + (f": '{wrong[0]}'" if wrong else ""))
    return unique


def parse_seconds(text: str) -> float | None:
    """`1-02:03:04`, `02:03:04`, `03:04` (minutes first) in seconds; None for UNLIMITED and the like."""
    if text.upper() in ("UNLIMITED", "INFINITE", "INFINITY", "NOT_SET", "INVALID", "N/A", "NONE", "-", ""):
        return None
    match = _CLOCK.fullmatch(text)
    if not match:
        raise ParseFailure(f"'{text[:40]}' is not a span of time; expected days-hours:minutes:seconds")
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def format_clock(total: float) -> str:
    """Seconds as `hours:minutes:seconds`, rounded up."""
    whole = -int(-total // 1)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _split_entries(text: str) -> Iterator[str]:
    """Cut at the commas outside of brackets."""
    depth, entry = 0, ""
    for letter in text.strip():
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            yield entry
            entry = ""
        else:
            entry += letter
    if depth or not entry:
        raise ParseFailure(f"'{text[:60]}' is not a list of hosts")
    yield entry


def _expand_entry(entry: str) -> list[str]:
    names, position = [""], 0
    while position < len(entry):
        match = _PIECE.match(entry, position)
        if not match or match.end() == position:
            raise ParseFailure(f"'{entry[:60]}' is not a list of hosts")
        tails = list(_expand_ranges(match[2])) if match[2] else [""]
        if len(names) * len(tails) > MOST_HOSTS:
            raise ParseFailure(f"'{entry[:60]}' stands for more than {MOST_HOSTS} hosts")
        names = [f"{name}{match[1]}{tail}" for name in names for tail in tails]
        position = match.end()
    return names


def _expand_ranges(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ParseFailure(f"'[{ranges[:60]}]' is not a range of numbers")
        end = int(last or first)
        if not int(first) <= end < int(first) + MOST_HOSTS:
            raise ParseFailure(f"'[{ranges[:60]}]' is not a range of numbers")
        yield from (f"{number:0{len(first)}d}" for number in range(int(first), end + 1))
