"""Segments as a stranger, a full disk or a killed process may have left them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded_programs import python, read_rows, run_recorded
from steelyard.errors import StoreError
from steelyard.traces.calls import list_calls
from steelyard.traces.checksum import checksum
from steelyard.traces.segments import PAGE, RECORD, read_segment, read_segments

CODE = """
import os, sys
for name in ("a", "b" * 200):
    file = os.open(sys.argv[1] + name, os.O_CREAT | os.O_RDWR)
    for turn in range(20):
        os.pwrite(file, b"x" * 100, turn * 4096)
    os.fsync(file)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The segment of a program that writes 40 times to two files."""
    place = tmp_path_factory.mktemp("whole")
    recorded = run_recorded(place, *python(CODE, place / "data-"))
    (segment,) = recorded.segments
    return segment.path.read_bytes()


def test_the_checksum_is_crc_32c() -> None:
    assert checksum(b"123456789") == 0xE3069283
    assert checksum(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


def test_numbers_of_calls_are_never_used_again() -> None:
    calls = list_calls()
    assert len({call.number for call in calls}) == len({call.name for call in calls}) == len(calls) > 40


def test_a_segment_that_is_cut_off_anywhere_has_what_came_before(whole: bytes, tmp_path: Path) -> None:
    path, counts = tmp_path / "1.segment", []
    for end in range(PAGE, len(whole), 7 * RECORD + 13):
        path.write_bytes(whole[:end])
        segment = read_segment(path)
        counts.append(sum(len(piece) for piece in segment.read_calls()))
    assert counts == sorted(counts)
    assert counts[-1] > 40


@given(st.data())
def test_no_byte_that_is_changed_does_harm(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = tmp_path_factory.mktemp("changed")
    path, content = place / "1.segment", bytearray(whole)
    used = len(whole.rstrip(b"\0"))
    for at in data.draw(st.lists(st.integers(0, used - 1), min_size=1, max_size=20)):
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(StoreError):
        rows = read_rows([read_segment(path)], place / "table.parquet")
        assert all(row["path"] is None or isinstance(row["path"], str) for row in rows)


@given(st.binary(max_size=8192))
def test_what_is_no_segment_is_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("other") / "1.segment"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is not a segment"):
        read_segment(path)


def test_one_of_another_version_and_a_damaged_header_are_named(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "1.segment"
    path.write_bytes(whole[:15] + b"2" + whole[16:])
    with pytest.raises(StoreError, match="is a segment of version '2', not '1'"):
        read_segment(path)
    path.write_bytes(whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
    with pytest.raises(StoreError, match=r"1\.segment: the header of this segment is damaged"):
        read_segment(path)


def test_a_link_is_not_followed_and_an_empty_one_is_counted(whole: bytes, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "elsewhere").write_bytes(whole)
    (place / "1.segment").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="It is a link"):
        read_segments(place)
    (place / "1.segment").unlink()
    (place / "2.segment").touch()
    (place / "3.segment").write_bytes(whole)
    segments, without = read_segments(place)
    assert (len(segments), without) == (1, 1)
