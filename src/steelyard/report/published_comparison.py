"""A run beside a published result on a terminal: plain lines."""

from __future__ import annotations

from steelyard.analysis.comparison.compare_published import PublishedComparison, ShapeComparison
from steelyard.printable import make_one_line
from steelyard.report.columns import align
from steelyard.report.sections.section import estimate_text

HEAD = ("shape", "theirs", "ours [95 %]", "ours is")
_SHARES = ("efficiency_loss", "efficiency", "failure_rate", "share")


def published_lines(found: PublishedComparison) -> list[str]:
    """What they measured, the shapes side by side, and what cannot be compared."""
    other = found.published
    lines = [
        f"run   {found.run}",
        f"with  {other.id}: {other.shows}",
        f"      {other.measured}",
        f"      {other.found}",
        f"      source: {other.source}",
        "",
    ]
    if found.shapes:
        lines += align([HEAD, *(_row(one) for one in found.shapes)])
    else:
        lines.append("nothing in it can be compared with this run")
    lines += ["", "Only shapes are compared, never absolute values. Not compared:"]
    lines += [f"- {reason}" for reason in found.apart] or ["- none"]
    return [make_one_line(line) for line in lines]


def _row(one: ShapeComparison) -> tuple[str, ...]:
    if one.order is not None:
        p_value = "" if one.order.p_value is None else f" (p = {one.order.p_value:.2g})"
        rho = "no order" if one.order.rho is None else f"{one.order.rho:.2f}{p_value}"
        return (one.what, "1 = same order", f"Spearman's rho {rho}", one.stands)
    unit = "%" if one.kind in _SHARES else "1"
    if one.kind == "knee":
        return (one.what, _range(one.low, one.high), _knee(one), one.stands)
    return (one.what, _range(one.low, one.high, unit), estimate_text(one.ours, unit), one.stands)


def _knee(one: ShapeComparison) -> str:
    interval = one.ours.interval
    return _range(interval.low, interval.high) if interval else f"{one.ours.value:g}"


def _range(low: float, high: float, unit: str = "1") -> str:
    factor, label = (100, " %") if unit == "%" else (1, "")
    if low == high:
        return f"{low * factor:.4g}{label}"
    return f"{low * factor:.4g} to {high * factor:.4g}{label}"
