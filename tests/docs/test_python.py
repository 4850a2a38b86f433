"""The page about Python: its code runs, its table is what is recorded. As a program this file writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import steelyard
from steelyard.collectors.telemetry import COLUMNS
from steelyard.model.column import CLOCKS
from steelyard.report.tidy import _FIXED, _PLACED

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
BEGIN, END = "<!-- columns: made by tests/docs/test_python.py -->\n", "<!-- end of columns -->"
UNITS = {"1": "count", "%": "share of 1"}


def written(page: str) -> str:
    """The page with the table as it is to be."""
    before, _, rest = page.partition(BEGIN)
    columns = {**CLOCKS, **COLUMNS}.items()
    rows = [f"| `{name}` | {UNITS.get(one.unit, one.unit)} | {one.about} |\n" for name, one in columns]
    table = "| column | unit | meaning |\n|---|---|---|\n" + "".join(rows)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def test_the_table_is_what_is_recorded() -> None:
    page = PAGE.read_text()
    assert page == written(page), (
        f"run `python {Path(__file__).name}` in tests/docs, with this project's Python"
    )


def test_every_public_name_and_column_is_there() -> None:
    page = PAGE.read_text()
    for name in set(steelyard.__all__) - {"__version__"}:
        assert name in page
    for name in (*_FIXED, *_PLACED, *(name for name in vars(steelyard.Run) if not name.startswith("_"))):
        assert name in page


def test_its_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(block, names)
    assert len(names["rows"]) >= 12  # type: ignore[arg-type]
    assert Path(str(names["page"])).is_file()
    assert Path(str(names["table"])).is_file()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
