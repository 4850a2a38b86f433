"""What could not be measured says so, and --strict counts it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.foreign import busy_fields
from bench.process import NotMeasured
from bench.row import Row
from bench.setting import Setting

from bench import __main__ as bench
from bench import results, sampling, start
from steelyard.store.telemetry import read_parquet


def test_rows_before_a_failure_are_kept(tmp_path: Path) -> None:
    def benchmark(_: Setting) -> Iterator[Row]:
        yield Row("trial", "a", "s", (1.0,))
        raise NotMeasured("the tool is missing")

    kept, lost = bench.measured("trial", benchmark, Setting(tmp_path))
    assert (kept.what, kept.verdict) == ("a", "no limit")
    assert (lost.note, lost.verdict) == ("the tool is missing", "not measured")
    assert 0 <= (lost.foreign or 0.0) <= 1


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--strict",), 1)])
def test_a_miss_is_an_error_only_when_strict(
    words: tuple[str, ...],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(start, "MOST", {"--version": 1e-9})
    monkeypatch.setattr(start, "MOST_RUN", 1e-9)
    monkeypatch.setattr(start, "STARTS", 1)
    assert bench.main(["--quick", *words, "start"]) == code
    path = Path(capsys.readouterr().out.splitlines()[-1])
    assert [row["verdict"] for row in json.loads(path.read_text())["rows"]] == ["not within"] * 2
    assert list((tmp_path / "results").iterdir()) == [path], "the working directory is gone"


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main(["trail"])
    assert ended.value.code == 2
    assert "no benchmark trail" in capsys.readouterr().err


def test_every_benchmark_is_there() -> None:
    folder = Path(bench.__file__).parent
    having = {path.stem for path in folder.glob("*.py") if "\ndef rows(" in path.read_text()}
    assert having == {*bench.NAMES, *bench.SLOW}


def test_sampling_measures_the_sampler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SAMPLES", 12)
    monkeypatch.setattr(sampling, "APART", 0.02)
    tight, apart, table = sampling.rows(Setting(tmp_path, quick=True))
    assert all(0 < figure < 1 for row in (tight, apart) for figure in (*row.ours, *row.theirs))
    assert len(table.ours) == Setting(tmp_path, quick=True).turns
    hurried, spaced = (read_parquet(tmp_path / "sampling" / f"{n}.parquet") for n in ("hurried", "local"))
    assert sampling.SAMPLES - 3 <= len(hurried["t"]) <= sampling.SAMPLES + 1
    assert 1 <= len(spaced["t"]) <= sampling.SAMPLES, "a busy machine may hold some of them up"


def test_the_line_of_all_cores() -> None:
    text = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 9 9 9 9 9 9 9 9 9 9\n"
    assert busy_fields(text) == [1, 2, 3, 4, 5, 6, 7, 8]
