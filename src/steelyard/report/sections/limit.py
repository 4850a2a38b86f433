"""The limit that was searched for, as a table of all levels that were probed, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.analysis.limit import Limit, LimitStudy, ProbedLevel
from steelyard.report.numbers import show_interval
from steelyard.report.sections.section import NO_INTERVAL, Section
from steelyard.stats.interval import Interval
from steelyard.units import format_count


def limit_section(found: LimitStudy) -> Section:
    """The section of a search."""
    head = (*(("search",) if len(found.limits) > 1 else ()), found.parameter, "verdict", "n", "figure [95 %]")
    return Section(
        f"Limit of {found.parameter}: {found.goal} while {found.condition}",
        _about(found),
        [found.sentence(limit) for limit in found.limits],
        head,
        [_row(found, limit, level) for limit in found.limits for level in limit.levels],
        list(_notes(found)),
    )


def _about(found: LimitStudy) -> str:
    least, most = found.repetitions
    repeated = f"{least}" if least == most else f"{least} to {most}"
    return (
        "The limit is a bracket, from the last level at which the condition holds to the first at which it"
        " does not. A level is decided when the entire 95 % interval of its repetitions is on one side of the"
        f" bound (the line); each was measured {repeated} times, until it was decided. A level that remains"
        " undecided counts as not met, so the search ended where the next level is at most"
        f" {100 * found.within:g} % away. Repetitions that failed under load count as worse than any figure."
        " The choice of levels and the number of repetitions depend on the results (sequential), and the"
        " condition is assumed to change only once between the bounds. In simulation, the bracket contained"
        " the true limit in over 97 % of searches."
    )


def _row(found: LimitStudy, limit: Limit, level: ProbedLevel) -> tuple[str, ...]:
    name = (limit.label,) if len(found.limits) > 1 else ()
    n = f"{level.n}" + (f", {level.failed} failed" if level.failed else "")
    return (*name, level.text, _verdict(limit, level), n, figure(found, level))


def _verdict(limit: Limit, level: ProbedLevel) -> str:
    word = {id(limit.holds): "limit", id(limit.fails): "next"}.get(id(level), "")
    return f"{level.verdict} ({word})" if word else str(level.verdict)


def figure(found: LimitStudy, level: ProbedLevel) -> str:
    """`12.1 ms [11.8, 12.6]`; `failed` where most repetitions failed."""
    if level.value is None:
        return "failed" if level.failed else "–"
    interval = None
    if level.low is not None and level.high is not None and level.confidence is not None:
        interval = Interval(level.low, level.high, level.confidence, "")
    value, shown = show_interval(level.value, interval, found.metric.unit)
    return f"{value} {shown or NO_INTERVAL}"


def _notes(found: LimitStudy) -> Iterator[str]:
    for limit in found.limits:
        where = f"{limit.label}: " if limit.label else ""
        for text in limit.oddities:
            yield where + text
        for level in limit.levels:
            if level.left_out:
                made = format_count(level.left_out, "trial")
                yield f"{where}{found.parameter}={level.text}: {made} not counted, marked or failed otherwise"
