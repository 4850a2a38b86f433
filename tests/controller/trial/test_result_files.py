"""Files in the working directory of a program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard import api
from steelyard.controller.trial.result_files import ResultFiles

Measure = Callable[..., api.Run]
FIGURE = {"rate": {"json": "rate", "from": "r.json"}}


def fates(run: api.Run) -> list[Any]:
    return [trial.result.metrics.get("rate", trial.result.category) for trial in run.record.trials]


def test_a_figure_is_read_from_a_file_in_the_working_directory(measure: Measure) -> None:
    run = measure("echo '{\"rate\": 5}' > r.json", options={"metrics": FIGURE}, repeat=2)
    assert fates(run) == [5.0, 5.0]
    assert (run.record.folder.phase(1, "host-0", "run") / "raw" / "r.json").is_file()


def test_one_in_raw_comes_first(measure: Measure) -> None:
    script = "echo '{\"rate\": 5}' > r.json; echo '{\"rate\": 7}' > $RAW/r.json"
    assert fates(measure(script, options={"metrics": FIGURE})) == [7.0]


def test_a_file_that_was_there_before_is_no_result(measure: Measure, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"rate": 1}')
    options = {"metrics": FIGURE, "cwd": str(tmp_path)}
    run = measure("true", options=options)
    assert fates(run) == ["unreadable-output"]
    assert "nor to its working directory" in run.record.trials[0].message
    assert fates(measure("echo '{\"rate\": 2}' > r.json", options=options)) == [2.0]
    assert (tmp_path / "r.json").read_text() == '{"rate": 2}\n'


@pytest.mark.parametrize(
    ("before", "after", "fetched"),
    [
        (None, "regular file a", True),
        ("regular file a", "regular file b", True),
        ("regular file a", "regular file a", False),
        (None, "directory a", False),
        (None, None, False),
    ],
)
def test_a_far_host_is_asked(before: str | None, after: str | None, fetched: bool, tmp_path: Path) -> None:
    said, got = [before, after], []

    async def capture(argv: tuple[str, ...]) -> str | None:
        assert argv[-1] == "/work/r.json"
        return said.pop(0)

    async def get(source: PurePosixPath, target: Path) -> None:
        got.append((source, target))

    async def story() -> None:
        host: Any = SimpleNamespace(shares_files=False, capture=capture, get=get)
        files = ResultFiles(host, PurePosixPath("/work"), ["r.json"])
        await files.record_states()
        await files.fetch(tmp_path)

    asyncio.run(story())
    assert got == [(PurePosixPath("/work/r.json"), tmp_path / "r.json")] * fetched
