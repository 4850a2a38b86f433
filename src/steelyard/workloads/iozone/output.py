"""The table of auto mode and the sections of throughput mode, as iozone prints them. Pure.

Source: https://www.iozone.org, src/current/iozone.c. A kB of iozone has 1024 bytes; older versions
print it as KB. Tests that did not run leave blanks in the row of the table, so that its figures stand for
what was asked, in order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard.plugin import ParseFailure

_KB = 1024.0
_VERSION = re.compile(r"^[ \t]*Version \$Revision: ([\w.]{1,20}) \$", re.MULTILINE)
_UNIT = re.compile(r"^[ \t]*Output is in kB(?:ytes)?/sec[ \t\r]*$", re.MULTILINE | re.IGNORECASE)
_END = re.compile(r"^[ \t]*iozone test complete\.", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*kB[ \t]+reclen[ \t]+write\b.*$", re.MULTILINE | re.IGNORECASE)
_ROW = re.compile(r"^[ \t]*(\d{1,20})((?:[ \t]+\d{1,20})+)[ \t\r]*$", re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*Children see throughput for[ \t]+", re.MULTILINE)
_TITLE = re.compile(r"(\d{1,9})\s+([a-z][a-z -]{0,40}?)[ \t]*=[ \t]*(\S+)[ \t]+kB/sec", re.IGNORECASE)
_FIGURES = {
    "parent": re.compile(
        r"^[ \t]*Parent sees throughput for .{1,60}?=[ \t]*(\S+)[ \t]+kB/sec", re.MULTILINE | re.I
    ),
    "min": re.compile(r"^[ \t]*Min throughput per \w+[ \t]*=[ \t]*(\S+)[ \t]+kB/sec", re.MULTILINE | re.I),
    "max": re.compile(r"^[ \t]*Max throughput per \w+[ \t]*=[ \t]*(\S+)[ \t]+kB/sec", re.MULTILINE | re.I),
    "mean": re.compile(r"^[ \t]*Avg throughput per \w+[ \t]*=[ \t]*(\S+)[ \t]+kB/sec", re.MULTILINE | re.I),
    "least": re.compile(r"^[ \t]*Min xfer[ \t]*=[ \t]*(\S+)[ \t]+kB", re.MULTILINE | re.I),
}


class ProcessRates(NamedTuple):
    """A section: bytes a second of all processes, of the slowest, the fastest and the average one.

    `parent` is the whole over the time that the parent process saw; `least` are the bytes of the process that
    moved the fewest.
    """

    children: float
    parent: float
    min: float
    max: float
    mean: float
    least: float


def check_run(text: str) -> str:
    """That iozone finished, and in bytes. Returns its version. Raises ParseFailure."""
    if not _END.search(text):
        said = (text.strip() or "nothing").splitlines()[-1].strip()[:200]
        raise ParseFailure(f"iozone did not complete its test. Its last line: {said}")
    if not _UNIT.search(text):
        raise ParseFailure("iozone did not print rates in kBytes/sec")
    version = _VERSION.search(text)
    return version[1] if version else "unknown"


def parse_table(text: str, size: int, record: int, columns: Sequence[str]) -> dict[str, float]:
    """The one row, in bytes a second by column. Raises ParseFailure."""
    heading = _HEADING.search(text)
    if not heading:
        raise ParseFailure("iozone's table of rates is missing")
    rows = _ROW.findall(text, heading.end())
    if len(rows) != 1:
        raise ParseFailure(f"iozone's table has {len(rows)} rows, not 1")
    words = [rows[0][0], *rows[0][1].split()]
    ran, asked = words[:2], [str(size // 1024), str(record // 1024)]
    if ran != asked:
        raise ParseFailure(
            f"iozone ran with size and record of {' and '.join(ran)} kB, not {' and '.join(asked)}"
        )
    if len(words) - 2 != len(columns):
        raise ParseFailure(f"iozone's row has {len(words) - 2} rates, not those of {', '.join(columns)}")
    return {name: _read_rate(word, name) for name, word in zip(columns, words[2:], strict=True)}


def parse_sections(text: str, processes: int, names: Mapping[str, str]) -> dict[str, ProcessRates]:
    """The section of each metric of `names`. Raises ParseFailure."""
    sections: dict[str, ProcessRates] = {}
    for section in _SECTION.split(text)[1:]:
        title = _TITLE.match(section)
        if not title:
            raise ParseFailure(
                f"iozone's section begins with {section[:80]!r}, not with processes and a rate"
            )
        if int(title[1]) != processes:
            raise ParseFailure(f"iozone ran {title[1]} {title[2]}, not {processes}")
        if title[2] in sections:
            raise ParseFailure(f"iozone printed the rates of its {title[2]} twice")
        sections[title[2]] = _read_section(section, title[2], title[3])
    missing = [who for who in names.values() if who not in sections]
    if missing:
        raise ParseFailure(
            f"iozone has no rates of {' and '.join(missing)}; this version may not have that test"
        )
    return {name: sections[who] for name, who in names.items()}


def _read_section(section: str, who: str, children: str) -> ProcessRates:
    words = {name: pattern.search(section) for name, pattern in _FIGURES.items()}
    absent = [name for name, word in words.items() if not word]
    if absent:
        raise ParseFailure(f"iozone's section of {who} has no {' and no '.join(absent)}")
    least = _read_number(words["least"][1] if words["least"] else "", who)
    rates = {name: _read_number(word[1], who) for name, word in words.items() if word and name != "least"}
    if not rates["min"] or not least:
        raise ParseFailure(
            f"one of iozone's {who} moved nothing before the first had finished, so that their rates are not "
            "those of one time: raise `size`, or set `finish_all: true`"
        )
    return ProcessRates(_read_rate(children, who), least=least, **rates)


def _read_rate(word: str, what: str) -> float:
    if not (rate := _read_number(word, what)):
        raise ParseFailure(f"iozone's rate of {what} is 0")
    return rate


def _read_number(word: str, what: str) -> float:
    try:
        number = float(word) * _KB
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ParseFailure(f"iozone's figure of {what} is {word[:40]!r}, not a number of kB")
    return number
