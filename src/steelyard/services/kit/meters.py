"""What servers print of themselves as the figures of a service: sums over those that answer, name by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


def sum_meters(said: Iterable[str], wanted: Mapping[str, str]) -> dict[str, float]:
    """`wanted` is from a server's name of a figure to ours. `live_servers` counts those that said anything.

    A line is `name:value` or `STAT name value`; what is no number, and what nobody asked for, is left out.
    """
    answers = [text for text in said if text.strip()]
    totals = {"live_servers": float(len(answers))}
    for text in answers:
        for name, value in re.findall(r"^(?:STAT )?(\w+)[: ](\d+(?:\.\d+)?)\s*$", text, re.MULTILINE):
            if name in wanted:
                totals[wanted[name]] = totals.get(wanted[name], 0.0) + float(value)
    return totals
