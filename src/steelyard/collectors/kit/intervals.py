"""From samples to rows: what each interval between two samples came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from steelyard.model.column import Sample

Figures = Mapping[str, Any]
Parse = Callable[[Mapping[str, str]], Figures]
Compare = Callable[[Figures, Figures, float], Mapping[str, float]]


def iter_intervals(samples: Iterable[Sample], parse: Parse, compare: Compare) -> Iterator[dict[str, float]]:
    """A row for every interval: `compare` is handed the figures at both of its ends and its seconds."""
    before: tuple[float, Figures] | None = None
    for wall, mono, raw in samples:
        figures = parse(raw)
        if before is not None and mono > before[0]:
            yield {**compare(before[1], figures, mono - before[0]), "t": wall, "m": mono}
        before = (mono, figures)


def rate_of(previous: Figures, current: Figures, name: str, seconds: float) -> float | None:
    """How fast a counter grew; None where it is new or went back (reset, wrapped, device replaced).

    A gap is better than a guess.
    """
    if name not in previous or current[name] < previous[name]:
        return None
    return float((current[name] - previous[name]) / seconds)
