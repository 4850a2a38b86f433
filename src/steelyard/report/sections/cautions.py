"""What simulations say of a run's intervals where they are less sure than they look, in a sentence each."""

from __future__ import annotations

from steelyard.analysis.claims import format_by_kind, format_source, format_span, select_claims
from steelyard.analysis.summary import RunSummary
from steelyard.units import format_count


def cautions(summary: RunSummary) -> list[str]:
    """Of cells that stopped early, and of an outlier policy; none for a fixed number and all values."""
    early = [cell.n for cell in summary.cells if cell.stopped_early]
    texts = []
    if early:
        numbers = " to ".join(map(str, sorted({min(early), max(early)})))
        cells = f"{len(early)} of {format_count(len(summary.cells), 'cell')} stopped early, at n={numbers}"
        texts.append(f"{cells}: {describe_early_stops()}.")
    if summary.outliers != "none":
        texts.append(f"outliers: {describe_policy(summary.outliers)}.")
    return texts


def describe_early_stops() -> str:
    """How sure intervals of cells are that stopped before they had to, and what that hangs on."""
    held, seldom = select_claims("coverage.early"), select_claims("early")
    return (
        f"intervals of such cells contained the median in {format_by_kind(held)} {format_source(held)},"
        f" with the lower figures where few cells stop early (from {format_span(seldom)} of them did)"
    )


def describe_policy(policy: str) -> str:
    """How sure the interval of what a policy leaves is."""
    held = select_claims(f"coverage.{policy}")
    share = f"{format_by_kind(held)} {format_source(held)}"
    return f"intervals after `{policy}` contained the median of all values in {share}"
