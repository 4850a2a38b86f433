from __future__ import annotations

import errno
import json
import os
import string
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.errors import StoreError, StoreFull
from steelyard.store.journal import RESERVE, Journal, read_journal
from steelyard.untrusted import LONGEST_LINE

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
fields = st.dictionaries(st.text(string.ascii_lowercase, min_size=1).map("x".__add__), anything, max_size=4)
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def journal(folder: Path) -> Journal:
    return Journal(folder / "journal.ndjson", folder / "reserve")


def written(folder: Path, *count: int, **more: Any) -> Path:
    """A journal of so many lines."""
    made = journal(folder)
    for number in range(*count):
        made.write("line", number=number, **more)
    made.close()
    return made.path


def sequence(path: Path) -> list[int]:
    return [line["seq"] for line in read_journal(path)]


def test_a_line_says_when_and_what(tmp_path: Path) -> None:
    made = journal(tmp_path)
    made.write("first", sync=True, answer=42)
    made.write("second")
    made.close()
    first, second = read_journal(made.path)
    assert (first["seq"], first["kind"], first["answer"]) == (1, "first", 42)
    assert (second["seq"], second["kind"]) == (2, "second")
    assert second["wall"] >= first["wall"] > 1.7e9
    assert second["mono"] >= first["mono"]


@many
@given(told=st.lists(fields, max_size=5))
def test_what_is_written_is_read(
    told: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    made = journal(folder)
    for entry in told:
        made.write("line", **entry)
    made.close()
    found = [
        {key: value for key, value in line.items() if key.startswith("x")} for line in read_journal(made.path)
    ]
    assert found == told


def test_a_file_name_that_is_not_utf8_is_kept(tmp_path: Path) -> None:
    """One such line must not end the history for all that follow."""
    odd = os.fsdecode(b"/scratch/\xff\xfe") + "\ud800"
    path = written(tmp_path, 3, odd=odd)
    assert [line["odd"] for line in read_journal(path)] == [odd] * 3
    assert sequence(written(tmp_path, 1)) == [1, 2, 3, 4]


def test_a_journal_is_ascii_so_that_any_tool_reads_it(tmp_path: Path) -> None:
    assert written(tmp_path, 1, text="größer ≥ 5 µs").read_bytes().isascii()


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    made = journal(tmp_path)
    with pytest.raises(ValueError, match="JSON compliant"):
        made.write("line", value=float("nan"))
    made.close()
    assert list(read_journal(made.path)) == []


def test_a_torn_end_is_tolerated_at_every_byte(tmp_path: Path) -> None:
    path = written(tmp_path, 3, text='ü\n"{}', number_=1.5)
    whole = path.read_bytes()
    ends = [end + 1 for end, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        sound = sum(end <= length for end in ends)
        assert sequence(path) == list(range(1, sound + 1)), length
        written(tmp_path, 2)
        assert sequence(path) == list(range(1, sound + 3)), length
        assert path.read_bytes().startswith(whole[: ([0, *ends])[sound]])


@many
@given(tail=st.binary(max_size=200).filter(lambda tail: b"kind" not in tail))
def test_garbage_at_the_end_is_cut_off(tail: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.mktemp("journal"), 2)
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert sequence(path) == [1, 2]
    written(path.parent, 1)
    assert sequence(path) == [1, 2, 3]
    assert path.read_bytes().startswith(whole)


@pytest.mark.parametrize(
    "damage", [b"\n", b"\0\0\0\n", b'{"seq":\n', b"[]\n", b"\xff\n", b'{"kind":1}\n', b"[" * 9999 + b"\n"]
)
def test_damage_in_the_middle_is_told_and_destroys_nothing(damage: bytes, tmp_path: Path) -> None:
    """It is no torn end: sound lines come after it, and to cut them off would lose trials."""
    path = written(tmp_path, 3)
    first, *rest = path.read_bytes().splitlines(keepends=True)
    spoilt = first + damage + b"".join(rest)
    path.write_bytes(spoilt)
    told = f"damaged at byte {len(first)}: readable lines follow it"
    with pytest.raises(StoreError, match=told):
        list(read_journal(path))
    with pytest.raises(StoreError, match=told):
        journal(tmp_path)
    assert path.read_bytes() == spoilt


@many
@given(
    content=st.binary(max_size=300)
    | st.lists(anything, max_size=4).map(lambda found: "\n".join(map(json.dumps, found)).encode())
)
def test_any_bytes_are_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.ndjson"
    path.write_bytes(content)
    try:
        for line in read_journal(path):
            assert isinstance(line["kind"], str)
        journal(path.parent).close()
    except StoreError:
        assert path.read_bytes() == content


@pytest.mark.parametrize("odd", ["null", '"x"', "1e400", "-5", "[]", "true", "12345678901234567890"])
def test_an_odd_sequence_number_does_not_stop_the_count(odd: str, tmp_path: Path) -> None:
    path = written(tmp_path, 2)
    path.write_bytes(path.read_bytes() + b'{"kind":"x","seq":' + odd.encode() + b"}\n")
    written(tmp_path, 1)
    numbers = sequence(path)
    assert numbers[-1] > 2
    assert numbers[-1] > max(number for number in numbers[:-1] if type(number) is int)


@pytest.mark.parametrize("last", [True, False])
def test_a_line_without_end_is_damage_and_fills_no_memory(last: bool, tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    whole = path.read_bytes()
    os.truncate(path, len(whole) + (256 << 20))  # a hole, which takes no space
    if not last:
        path.write_bytes(path.read_bytes() + b"\n" + whole)
    tracemalloc.start()
    with pytest.raises(StoreError, match=f"damaged at byte {len(whole)}: the line is longer than 8 MiB"):
        list(read_journal(path))
    assert tracemalloc.get_traced_memory()[1] < 4 * LONGEST_LINE
    tracemalloc.stop()
    with pytest.raises(StoreError, match="longer than 8 MiB"):
        journal(tmp_path)
    assert path.stat().st_size > 256 << 20, "it was cut off"


def test_of_a_line_that_is_too_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    made, long = journal(tmp_path), "ü" * 3_000_000
    made.write("line", text=long, inner=[{"deep": long}], level="x" * 32_000, number=1.5)
    made.write("line", text="next")
    made.close()
    first, after = read_journal(made.path)
    assert after["text"] == "next"
    assert (first["level"], first["number"]) == ("x" * 32_000, 1.5)
    for text in (first["text"], first["inner"][0]["deep"]):
        assert text.startswith("ü" * 60_000)
        assert text.endswith("more characters were cut here)")
    assert max(map(len, made.path.read_bytes().splitlines())) < LONGEST_LINE


def test_what_cannot_be_cut_is_refused_and_the_journal_goes_on(tmp_path: Path) -> None:
    made = journal(tmp_path)
    with pytest.raises(StoreError, match=r"line 'line' is too long: \d+ of at most 8 MiB"):
        made.write("line", numbers=list(range(2_000_000)))
    made.write("line", text="next")
    made.close()
    assert [line["text"] for line in read_journal(made.path)] == ["next"]


def test_a_planted_journal_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("fifo", "link"):
        with pytest.raises(StoreError, match=r"cannot read .*(regular|link)"):
            list(read_journal(tmp_path / name))


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read .*No such file"):
        list(read_journal(tmp_path / "none"))
    (tmp_path / "journal.ndjson").mkdir()
    with pytest.raises(StoreError, match=r"cannot write .*Is a directory"):
        journal(tmp_path)


# The reserve


def test_the_reserve_takes_up_room_and_is_given_back(tmp_path: Path) -> None:
    made = journal(tmp_path)
    assert not made.has_reserve
    assert made.keep_reserve()
    assert made.has_reserve
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= RESERVE
    made.close()
    assert [path.name for path in tmp_path.iterdir()] == ["journal.ndjson"]


class FullDisk:
    """Writes as on a disk with so many bytes left; removing the reserve gives back its size."""

    def __init__(self, left: int, reserve: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.reserve, self._write = left, reserve, os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, fd: int, data: bytes) -> int:
        room = self.left + (0 if self.reserve.exists() else RESERVE)
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(fd, data[:room])
        self.left -= written
        return written


def write_for_ever(made: Journal) -> None:
    while True:
        made.write("line", text="x" * 50)


@pytest.mark.parametrize("left", [0, 1, 40, 100])
def test_the_reserve_is_for_the_last_words(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = journal(tmp_path)
    assert made.keep_reserve()
    FullDisk(left, tmp_path / "reserve", monkeypatch)
    for _ in range(5):
        made.write("line", text="x" * 50)
    assert not made.has_reserve
    assert sequence(made.path) == [1, 2, 3, 4, 5]
    with pytest.raises(StoreFull, match="no space left"):
        write_for_ever(made)
    monkeypatch.undo()
    sound = sequence(made.path)
    assert sound == list(range(1, len(sound) + 1))
    assert made.path.read_bytes().endswith(b"\n"), "nothing torn is left behind"


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EIO, StoreError), (errno.ENOSPC, StoreFull), (errno.EDQUOT, StoreFull)]
)
@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_disk_that_fails_is_told(
    call: str, number: int, kind: type[StoreError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails at will is not to be had; NFS tells of a full quota only when it syncs."""
    made = journal(tmp_path)
    monkeypatch.setattr(os, call, failing(number))
    with pytest.raises(kind, match=r"journal\.ndjson"):
        made.write("line", sync=True)
    monkeypatch.undo()
    made.close()


def test_a_write_that_is_cut_short_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, write = journal(tmp_path), os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    made.write("line", text="x" * 50)
    monkeypatch.undo()
    made.close()
    assert [line["text"] for line in read_journal(made.path)] == ["x" * 50]
