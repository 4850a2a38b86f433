"""Histories with a known truth."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard.analysis.history.history import History
from steelyard.analysis.history.load import load_history
from steelyard.store.layout import Store


def make_history(
    plans: ModuleType,
    root: Path,
    count: int,
    *,
    shift_at: int | None = None,
    plan: Callable[[int], dict[str, Any]] = lambda number: {},
) -> History:
    """Runs of one experiment whose first cell is slower by 10 % from `shift_at` on, with their commits.

    `plan(number)` says what else is other in a run.
    """
    for number in range(count):
        slow = 0.9 if shift_at is not None and number >= shift_at else 1.0
        changes = {"tags": {"commit": f"c{number}"}, "seed": number, **plan(number)}
        plans.build(
            root, **{"parameters": {"outstanding": [1, 8]}, "figures": _draw(plans, number, slow), **changes}
        )
    return load_history(Store(root), "synthetic")


def _draw(plans: ModuleType, number: int, slow: float) -> Callable[..., Any]:
    day = random.Random(number).gauss(1, 0.01)

    def figures(cell: Any, repetition: int, rng: random.Random) -> Any:
        values = plans.figures(cell, repetition, rng)
        values["write_bandwidth"] *= day * (slow if cell.parameters["outstanding"] == 1 else 1)
        return values

    return figures
