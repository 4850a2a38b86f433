"""Correcting p-values for the number of comparisons made at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    Calling everything at most alpha a finding keeps the probability of even one false finding among all
    comparisons at alpha, however they depend on each other.

    Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6 (1979). Raises ValueError for a p-value outside 0 … 1.
    """
    count = len(p_values)
    order = _sort_positions(p_values)
    scaled = [p_values[position] * (count - rank) for rank, position in enumerate(order)]
    return _restore_order(order, _accumulate(max, scaled))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, in the order given.

    Calling everything at most alpha a finding keeps the expected share of false findings among the findings
    at alpha: weaker than `holm`, and the better choice for screening hundreds of cells.

    Source: Benjamini & Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical
    Society B 57 (1995). Raises ValueError for a p-value outside 0 … 1.
    """
    count = len(p_values)
    order = _sort_positions(p_values)
    scaled = [p_values[position] * (count / (rank + 1)) for rank, position in enumerate(order)]
    return _restore_order(order, _accumulate(min, scaled[::-1])[::-1])


def _sort_positions(p_values: Sequence[float]) -> list[int]:
    for p_value in p_values:
        if not 0 <= p_value <= 1:
            raise ValueError(f"p-value {p_value} is not between 0 and 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)


def _accumulate(pick: Callable[[float, float], float], scaled: list[float]) -> list[float]:
    adjusted: list[float] = []
    for value in scaled:
        adjusted.append(min(1.0, pick(value, adjusted[-1]) if adjusted else value))
    return adjusted


def _restore_order(order: list[int], values: list[float]) -> list[float]:
    restored = [0.0] * len(order)
    for position, value in zip(order, values, strict=True):
        restored[position] = value
    return restored
