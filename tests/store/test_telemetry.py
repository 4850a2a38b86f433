from __future__ import annotations

import contextlib
import json
import math
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from steelyard.errors import StoreError, StoreFull
from steelyard.store.telemetry import RawSample, read_parquet, read_samples, sample_line, write_parquet

finite = st.floats(allow_nan=False, allow_infinity=False)
on_a_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)


@contextmanager
def at_most_written(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_come_back_and_what_they_lack_is_null(tmp_path: Path) -> None:
    write_parquet(
        iter([{"t": 1.0, "a": 0.1}, {"t": 2.0, "b": math.nan}, {"t": 3.0, "b": 1e300}]), tmp_path / "x"
    )
    assert read_parquet(tmp_path / "x") == {
        "t": [1.0, 2.0, 3.0],
        "a": [0.1, None, None],
        "b": [None, None, 1e300],
    }
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_no_rows_are_a_table_without_rows(tmp_path: Path) -> None:
    write_parquet([], tmp_path / "x.parquet")
    assert read_parquet(tmp_path / "x.parquet") == {"t": []}


@pytest.mark.parametrize(
    "name", ['disk_read:a"; DROP TABLE telemetry; --', "'", "é:ü", "select", "a b", "A[0]*"]
)
def test_names_of_devices_are_only_names(tmp_path: Path, name: str) -> None:
    write_parquet([{"t": 1.0, name: 2.0}], tmp_path / "x.parquet")
    assert read_parquet(tmp_path / "x.parquet") == {"t": [1.0], name: [2.0]}


@pytest.mark.parametrize("name", ["[ab]*?.parquet", "it's;.parquet", "a b.parquet", "${x}.parquet"])
def test_a_path_is_only_a_path(tmp_path: Path, name: str) -> None:
    write_parquet([{"t": 0.0}], tmp_path / "a1.parquet")
    write_parquet([{"t": 1.0}], tmp_path / name)
    assert read_parquet(tmp_path / name) == {"t": [1.0]}


def test_a_failed_write_leaves_the_old_table_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_parquet([{"t": 1.0}], path)
    with at_most_written(100), pytest.raises(StoreError, match=r"cannot write .*x\.parquet"):
        write_parquet([{"t": float(n)} for n in range(10_000)], path)
    assert read_parquet(path) == {"t": [1.0]}
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = contextlib.nullcontext(Path("/dev/full"))
    monkeypatch.setattr("steelyard.store.telemetry.replace_whole", lambda path, sync: full)
    with pytest.raises(StoreFull, match="no space left"):
        write_parquet([{"t": float(n)} for n in range(10_000)], tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write"):
        write_parquet([{"t": 1.0}], tmp_path / "none" / "x.parquet")


def test_reading_what_is_not_there_or_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        read_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(StoreError, match="cannot read"):
        read_parquet(tmp_path / "x.parquet")


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "host.ndjson"
    path.write_bytes(sample_line(RawSample(1.0, 2.0, {"/proc/stat": "cpu\n"})) + b'{"t":2.0,"m":')
    assert list(read_samples(path)) == [RawSample(1.0, 2.0, {"/proc/stat": "cpu\n"})]


@pytest.mark.parametrize(
    "line",
    [
        "", "[]", "{", "null", '{"t":1,"m":2}', '{"t":1,"m":2,"raw":[]}', '{"t":1,"m":2,"raw":{"a":1}}',
        '{"t":NaN,"m":2,"raw":{}}', '{"t":"x","m":2,"raw":{}}', "[" * 100_000,
        f'{{"t":{"9" * 400},"m":1,"raw":{{}}}}',
    ],
)  # fmt: skip
def test_another_odd_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "host.ndjson"
    path.write_bytes(sample_line(RawSample(1.0, 2.0, {})) + line.encode() + b"\n")
    with pytest.raises(StoreError, match=r"host\.ndjson:2 is not a sample"):
        list(read_samples(path))


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        list(read_samples(tmp_path / "host.ndjson"))


@on_a_file
@given(st.lists(st.builds(RawSample, finite, finite, st.dictionaries(st.text(), st.text()))))
def test_samples_come_back(tmp_path: Path, samples: list[RawSample]) -> None:
    (tmp_path / "x").write_bytes(b"".join(map(sample_line, samples)))
    assert list(read_samples(tmp_path / "x")) == samples


@on_a_file
@given(st.binary())
@example(b'{"t":1,"m":1,"raw":{"\\ud800":""}}\n')
def test_any_bytes_are_samples_or_one_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with suppress(StoreError):
        assert all(isinstance(sample, RawSample) for sample in read_samples(tmp_path / "x"))


def test_a_line_is_json_on_one_line() -> None:
    line = sample_line(RawSample(1.5, 2.5, {"/proc/x": "a\nb"}))
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"t": 1.5, "m": 2.5, "raw": {"/proc/x": "a\nb"}}


def test_planted_telemetry_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("fifo", "link"):
        with pytest.raises(StoreError, match=r"cannot read .*(link|regular)"):
            read_parquet(tmp_path / name)
        with pytest.raises(StoreError, match=r"cannot read .*(link|regular)"):
            list(read_samples(tmp_path / name))


def test_a_table_of_few_bytes_and_many_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with duckdb.connect() as database:
        database.sql("SELECT 1.0 AS t FROM range(30_000_000)").write_parquet(str(path), compression="zstd")
    assert path.stat().st_size < 1 << 20
    with pytest.raises(StoreError, match="30000000 rows"):
        read_parquet(path)
