"""Logs of HdrHistogram: real ones, ones made here by the published encoding, and damaged ones."""

from __future__ import annotations

import base64
import contextlib
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ParseFailure
from steelyard.workloads.kit.hdr_log import decode_histogram, parse_intervals

LOG = Path(__file__).parents[2] / "data" / "contract" / "ycsb" / "0" / "run" / "raw" / "READ.hdr"
LARGEST = 2**40


def zigzag(number: int) -> bytes:
    """The encoding of one number, written from its description, not from the reader."""
    left = (number << 1) ^ (number >> 63)
    found = bytearray()
    for _ in range(8):
        if left < 0x80:
            return bytes([*found, left])
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def cell(value: int) -> int:
    """The cell of a value, with three digits and unit 1: 2048 single values, then 1024 for each doubling."""
    doubling = max(0, value.bit_length() - 11)
    return 1024 * doubling + (value >> doubling)


def top(value: int) -> int:
    """The highest value in the same cell."""
    doubling = max(0, value.bit_length() - 11)
    return ((value >> doubling) + 1 << doubling) - 1


def packed(counts: dict[int, int], *, offset: int = 0) -> bytes:
    cells: dict[int, int] = {}
    for value, count in counts.items():
        cells[cell(value)] = cells.get(cell(value), 0) + count
    words, at = b"", 0
    for index in sorted(cells):
        words += zigzag(at - index) if index > at else b""
        words += zigzag(cells[index])
        at = index + 1
    plain = struct.pack(">IIIIQQd", 0x1C849313, len(words), offset, 3, 1, LARGEST, 1.0) + words
    squeezed = zlib.compress(plain)
    return struct.pack(">II", 0x1C849314, len(squeezed)) + squeezed


def line(content: bytes) -> str:
    head = '#[StartTime: 100.500 (seconds since epoch), noon]\n"StartTimestamp","Interval_Length"\n'
    return f"{head}1.000,0.500,0.000,{base64.b64encode(content).decode()}\n"


@given(st.dictionaries(st.integers(0, LARGEST), st.integers(1, 2**62), max_size=30))
def test_what_was_packed_is_read(counts):
    expected: dict[int, int] = {}
    for value, count in counts.items():
        expected[top(value)] = expected.get(top(value), 0) + count
    if all(count < 2**63 for count in expected.values()):
        assert decode_histogram(packed(counts)) == expected


def test_an_interval_has_its_moments():
    (found,) = parse_intervals(line(packed({7: 2})), "READ.hdr")
    assert (found.start, found.end, found.counts) == (101.5, 102.0, {7: 2})


def test_a_real_log_holds_what_ycsb_says_of_it():
    said = (LOG.parents[1] / "stdout").read_text()
    found = parse_intervals(LOG.read_text(), "READ.hdr")
    total = sum(count for interval in found for count in interval.counts.values())
    assert f"[READ], Operations, {total}\n" in said
    assert f"[READ], MaxLatency(us), {max(max(each.counts, default=0) for each in found)}\n" in said
    assert all(before.end <= after.start + 0.002 for before, after in pairwise(found))


def test_a_log_that_breaks_off_is_refused():
    text = LOG.read_text()
    for end in (0, 30, len(text) // 2, len(text) - 1):
        with pytest.raises(ParseFailure):
            parse_intervals(text[:end], "READ.hdr")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1c\x84\x93\x14",
        packed({5: 1})[:-1],
        packed({5: 1}, offset=1),
        b"\x1c\x84\x93\x13" + packed({5: 1})[4:],
        struct.pack(">II", 0x1C849314, 8) + zlib.compress(b"")[:8],
        struct.pack(">II", 0x1C849314, len(zlib.compress(bytes(40)))) + zlib.compress(bytes(40)),
    ],
)
def test_a_damaged_histogram_is_refused(content):
    with pytest.raises(ParseFailure, match=r"READ\.hdr"):
        parse_intervals(line(content), "READ.hdr")


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_empty_but_never_another_error(content):
    squeezed = zlib.compress(struct.pack(">IIIIQQd", 0x1C849313, len(content), 0, 3, 1, 9, 1.0) + content)
    packed_up = struct.pack(">II", 0x1C849314, len(squeezed)) + squeezed
    with contextlib.suppress(ValueError):
        assert all(count > 0 for count in decode_histogram(packed_up).values())


def test_a_bomb_is_refused():
    squeezed = zlib.compress(bytes(2**26))
    with pytest.raises(ParseFailure, match="larger than any histogram"):
        parse_intervals(line(struct.pack(">II", 0x1C849314, len(squeezed)) + squeezed), "READ.hdr")
