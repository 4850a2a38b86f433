"""What simulations say of a run's intervals where they are less sure than they look, in a sentence each."""

from __future__ import annotations

from steelyard.analysis.claims import by_kind, claims_of, source, span
from steelyard.analysis.summary import RunSummary
from steelyard.report.wording import counted


def cautions(summary: RunSummary) -> list[str]:
    """Of cells that stopped early, and of an outlier policy; none for a fixed number and all values."""
    early = [cell.n for cell in summary.cells if cell.stopped_early]
    found = []
    if early:
        numbers = " to ".join(map(str, sorted({min(early), max(early)})))
        cells = f"{len(early)} of {counted(len(summary.cells), 'cell')} stopped early, at n={numbers}"
        found.append(f"{cells}: {of_early()}.")
    if summary.outliers != "none":
        found.append(f"outliers: {of_policy(summary.outliers)}.")
    return found


def of_early() -> str:
    """How sure intervals of cells are that stopped before they had to, and what that hangs on."""
    held, seldom = claims_of("coverage.early"), claims_of("early")
    return (
        f"intervals of such cells held the median in {by_kind(held)} {source(held)}, the lower figures where"
        f" cells seldom stop early (from {span(seldom)} of them did)"
    )


def of_policy(policy: str) -> str:
    """How sure the interval of what a policy leaves is."""
    held = claims_of(f"coverage.{policy}")
    return f"intervals after `{policy}` held the median of all values in {by_kind(held)} {source(held)}"
