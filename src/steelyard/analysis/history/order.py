"""In which order the runs of a history stand, and what each is called there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

WALL = "wall"
"""The order of time, which is no tag."""
_VERSION = re.compile(r"v?\d{1,12}(?:[.\-_:T ]\d{1,12})*Z?")
_NUMBER = re.compile(r"\d+")


class _Run(Protocol):
    @property
    def started(self) -> float: ...
    @property
    def tags(self) -> Mapping[str, str]: ...


Run = TypeVar("Run", bound=_Run)


def sort_runs(runs: Sequence[Run], by: str) -> list[Run]:
    """By time, or by the value of a tag that all of them have.

    Numbers, versions and dates have an order of their own. Other values, such as commits, stand in the order
    in which each was first measured, so that a commit that is measured again stands where it stood.
    """
    if by == WALL:
        return sorted(runs, key=lambda run: run.started)
    values = {run.tags[by] for run in runs}
    if all(map(_VERSION.fullmatch, values)):
        return sorted(runs, key=lambda run: (_split_version(run.tags[by]), run.started))
    first: dict[str, float] = {}
    for run in sorted(runs, key=lambda run: run.started):
        first.setdefault(run.tags[by], run.started)
    return sorted(runs, key=lambda run: (first[run.tags[by]], run.started))


def _split_version(text: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(text)]
