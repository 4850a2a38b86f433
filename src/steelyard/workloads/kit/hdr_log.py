"""Read a log of HdrHistogram: a histogram for each interval of time.

Source: http://hdrhistogram.org, the format of HistogramLogWriter 1.3 and the compressed V2 encoding. A line
is start (seconds after the log's base time), length, maximum, and the histogram: base64 of a header and of
deflated counts.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.errors import ParseFailure
from steelyard.workloads.kit.document import JsonNode

_BASE = re.compile(r"^#\[StartTime: (\d+\.\d+) ", re.MULTILINE)
_LINE = re.compile(r"(\d+\.\d+),(\d+\.\d+),\d+\.\d+,([A-Za-z0-9+/]+=*)")
_COMPRESSED, _PLAIN = 0x1C849304, 0x1C849303
_OUTER, _HEADER = struct.Struct(">II"), struct.Struct(">IIIIQQd")
_LARGEST = 2**24  # bytes of one histogram; a full one of three digits has less than half a megabyte
_MOST_CELLS = 2**20
_NANOSECOND = 1e-9


@dataclass(frozen=True, slots=True)
class LogInterval:
    """What was recorded between two moments, in seconds since 1970; `counts`: how often each value was.

    A value is the highest of those that the histogram does not tell apart, as in HdrHistogram's percentiles.
    """

    start: float
    end: float
    counts: Mapping[int, int]


def parse_intervals(text: str, name: str) -> tuple[LogInterval, ...]:
    """All intervals of a log, in its order. Raises ParseFailure."""
    base = _BASE.search(text)
    if not base or not text.endswith("\n"):
        raise ParseFailure(f"{name} is not a histogram log, or is truncated: it ends with {text[-60:]!r}")
    lines = [line for line in text.splitlines() if not line.startswith(("#", '"'))]
    return tuple(_parse_interval(line, float(base[1]), name) for line in lines)


def _parse_interval(line: str, base: float, name: str) -> LogInterval:
    form = _LINE.fullmatch(line)
    if not form:
        raise ParseFailure(f"{name}: {line[:60]!r} is not a line of a histogram log")
    start = base + float(form[1])
    try:
        counts = decode_histogram(base64.b64decode(form[3], validate=True))
    except (ValueError, struct.error, zlib.error) as error:
        raise ParseFailure(f"{name}: a histogram is damaged: {error}") from error
    return LogInterval(start, start + float(form[2]), counts)


def decode_histogram(content: bytes) -> dict[int, int]:
    """Value to count of one histogram. Raises ValueError, struct.error, zlib.error."""
    cookie, length = _OUTER.unpack_from(content)
    if cookie & ~0xF0 != _COMPRESSED or length != len(content) - _OUTER.size:
        raise ValueError("it does not use the compressed V2 encoding")
    plain = _inflate(content[_OUTER.size :])
    cookie, length, offset, digits, lowest, _, _ = _HEADER.unpack_from(plain)
    if cookie & ~0xF0 != _PLAIN or offset or not 0 <= digits <= 5 or not lowest:
        raise ValueError("its header is of an unknown kind")
    if length != len(plain) - _HEADER.size:
        raise ValueError("its counts are truncated")
    highest = _Scale.of(digits, lowest)
    return {highest.value(index): count for index, count in _cells(plain[_HEADER.size :])}


def read_histogram(node: JsonNode) -> dict[float, int]:
    """Seconds to count of one that stands in JSON as hexadecimal digits, in ns. Raises ParseFailure."""
    try:
        counts = decode_histogram(bytes.fromhex(node.text()))
    except (ValueError, struct.error, zlib.error) as error:
        raise ParseFailure(f"{node.where}: the histogram is damaged: {error}") from error
    return {value * _NANOSECOND: count for value, count in counts.items()}


@dataclass(frozen=True, slots=True)
class _Scale:
    """How cells lie on the scale of values: `half` of a power of two in each, doubled cell by cell's size."""

    half: int  # log2 of the number of cells for each doubling
    unit: int  # log2 of the smallest value told apart

    @classmethod
    def of(cls, digits: int, lowest: int) -> _Scale:
        resolved = 2 * 10**digits
        return cls((resolved - 1).bit_length() - 1, lowest.bit_length() - 1)

    def value(self, index: int) -> int:
        """The highest value of a cell."""
        doubling, within = divmod(index, 1 << self.half)
        first = doubling == 0
        shift = self.unit + (0 if first else doubling - 1)
        return ((within + (0 if first else 1 << self.half) + 1) << shift) - 1


def _inflate(content: bytes) -> bytes:
    stream = zlib.decompressobj()
    plain = stream.decompress(content, _LARGEST)
    if not stream.eof:
        raise ValueError("it is truncated, or larger than any histogram")
    return plain


def _cells(content: bytes) -> Iterator[tuple[int, int]]:
    """Index and count of every cell that holds something; a negative number skips so many cells."""
    index = 0
    for number in _decode_numbers(content):
        if number > 0:
            yield index, number
        index += max(1, -number)
        if index > _MOST_CELLS:
            raise ValueError("it has more cells than any histogram")


def _decode_numbers(content: bytes) -> Iterator[int]:
    """Whole numbers in groups of seven bits, lowest first, the ninth of eight; even ones are positive."""
    value = shift = 0
    for byte in content:
        last = shift == 56
        value |= (byte if last else byte & 0x7F) << shift
        shift += 7
        if last or byte < 0x80:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0
    if shift:
        raise ValueError("its last number is truncated")
