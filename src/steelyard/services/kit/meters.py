"""What servers tell of themselves as the figures of a service: sums over those that answer, name by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_FIGURE = re.compile(r"^(?:STAT )?(\w+)[: ](\d+(?:\.\d+)?)\s*$", re.MULTILINE)


def sum_meters(said: Iterable[str], wanted: Mapping[str, str]) -> dict[str, float]:
    """`wanted` is from a server's name of a figure to ours. `live_servers` counts those that said anything.

    A line is `name:value` or `STAT name value`; what is no number, and what nobody asked for, is left out.
    """
    answers = [text for text in said if text.strip()]
    figures = (figure for text in answers for figure in _FIGURE.findall(text))
    totals = add_figures({wanted[name]: float(value)} for name, value in figures if name in wanted)
    return {"live_servers": float(len(answers)), **totals}


def add_figures(servers: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The figures of several servers in one."""
    totals: dict[str, float] = {}
    for figures in servers:
        for name, value in figures.items():
            totals[name] = totals.get(name, 0.0) + value
    return totals
