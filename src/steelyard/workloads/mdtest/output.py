"""The table of rates that mdtest prints. Pure.

Source: https://github.com/hpc/ior, src/mdtest.c. Until version 3.4 a colon follows the name of a row; since
4.1 the heading says that these are operations a second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard.plugin import ParseFailure

_LAUNCHED = re.compile(r"^mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) node", re.MULTILINE)
_TABLE = re.compile(r"^SUMMARY rate(?: \(in ops/sec\))?: \(of (\d+) iterations\)[ \t]*$", re.MULTILINE)
_ROW = re.compile(r"^ +((?:File|Directory|Tree) [a-z]+) *:?((?:[ \t]+[-+.\w]+)+)[ \t]*$", re.MULTILINE)
_END = re.compile(r"^-- finished at ", re.MULTILINE)
_WARNING = re.compile(r"^(?:ior )?WARNING: *(.+)$", re.MULTILINE)


class RateSummary(NamedTuple):
    """A row: operations a second over mdtest's repetitions."""

    max: float
    min: float
    mean: float
    stddev: float


class MdtestResult(NamedTuple):
    """Its rows by their names, and what mdtest said of itself."""

    rates: Mapping[str, RateSummary]
    version: str
    ranks: int
    hosts: int
    warnings: Sequence[str]


def parse_tables(text: str, repetitions: int) -> MdtestResult:
    """The one table. Raises ParseFailure."""
    launched = _LAUNCHED.findall(text)
    if not launched:
        raise ParseFailure(f"mdtest did not say with how many tasks it was launched: {text[-80:]!r}")
    if len(launched) > 1:
        why = "the launcher may belong to another MPI than mdtest"
        raise ParseFailure(f"{len(launched)} ranks ran on their own, each as if it were the only one: {why}")
    table = _TABLE.search(text)
    end = _END.search(text, table.end()) if table else None
    if not table or not end:
        raise ParseFailure("mdtest's table of rates is missing or truncated")
    if int(table[1]) != repetitions:
        raise ParseFailure(f"mdtest made {table[1]} repetitions, not {repetitions}")
    rows = _ROW.findall(text[table.end() : end.start()])
    version, ranks, hosts = launched[0]
    warnings = list(dict.fromkeys(_WARNING.findall(text)))
    return MdtestResult(_read_rows(rows), version, int(ranks), int(hosts), warnings)


def _read_rows(rows: Sequence[tuple[str, str]]) -> dict[str, RateSummary]:
    rates: dict[str, RateSummary] = {}
    for name, words in rows:
        try:
            numbers = [float(word) for word in words.split()]
        except ValueError:
            numbers = []
        if len(numbers) != 4 or not all(math.isfinite(number) and number >= 0 for number in numbers):
            raise ParseFailure(f"mdtest's row '{name}' reads {words.strip()[:80]!r}, not four rates")
        if name in rates:
            raise ParseFailure(f"mdtest's table has two rows '{name}'")
        rates[name] = RateSummary(*numbers)
    return rates
