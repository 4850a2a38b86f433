"""The page about statistics: its table is what was simulated. Run as a program, this file writes it."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.analysis.claims import SimulationClaim, load_claims

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "statistics.md"
BEGIN, END = "<!-- claims: made by tests/docs/test_statistics.py -->\n", "<!-- end of claims -->"
HEAD = "| simulation | data | how | share | of | date |\n|---|---|---|---|---|---|\n"


def row(one: SimulationClaim) -> str:
    share = f"{100 * one.share:.1f} %"
    cells = (f"`{one.simulation}`", one.world, one.condition, share, str(one.of), one.date)
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """All that was simulated, by simulation."""
    in_order = sorted(load_claims(), key=lambda one: one.simulation)
    return HEAD + "".join(map(row, in_order))


def written(page: str) -> str:
    """The page with the table as it is to be."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def test_the_table_is_what_was_simulated() -> None:
    page = PAGE.read_text()
    assert page == written(page), (
        f"run `python {Path(__file__).name}` in tests/docs, with this project's Python"
    )


def test_the_text_names_only_simulations_that_are_there() -> None:
    text = PAGE.read_text().partition(BEGIN)[0]
    named = set(re.findall(r"`((?:coverage|alarms)\.\w+)`", text))
    assert named <= {one.simulation for one in load_claims()}


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
