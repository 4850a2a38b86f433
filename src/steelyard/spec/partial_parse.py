"""Read as much of a tree as is sound, so that all mistakes of a file can be told at once.

What is wrong is taken out, or replaced by a stand-in, and the rest is read again until it holds. What was
taken out is `broken`; checks that would depend on it are left undone, so that one mistake gives one message.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from steelyard.errors import suggest_name
from steelyard.model.experiment import Experiment
from steelyard.spec.faults import Fault, Path, explain_errors

ROUNDS = 10
_STAND_IN: Mapping[str, Any] = {"experiment": "unnamed", "workload": {"use": "none"}}
_LISTS = ("require", "before_each", "collect")


@dataclass
class PartialParse:
    """What could be read. `experiment` is None when nothing could; `faults` are all mistakes so far.

    `broken` are top-level keys whose value is not the file's. `guessed` are parameters whose levels are
    stand-ins, `lost` the computed metrics that are missing.
    """

    experiment: Experiment | None = None
    faults: list[Fault] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    guessed: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    _original_indices: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Mapping[str, Any]) -> PartialParse:
        """Read a tree."""
        partial, sound = cls(), dict(copy.deepcopy(tree))
        partial._original_indices = {
            key: list(range(len(sound[key]))) for key in _LISTS if isinstance(sound.get(key), list)
        }
        for _ in range(ROUNDS):
            try:
                partial.experiment = Experiment.model_validate(sound)
            except ValidationError as error:
                partial._take_out(list(explain_errors(error, sound, Experiment)), sound)
            else:
                break
        return partial

    def map_to_file(self, fault: Fault) -> Fault:
        """The same fault with indices as they are in the file, where items were taken out of lists."""
        path = fault.path
        if len(path) > 1 and path[0] in self._original_indices and isinstance(path[1], int):
            path = (path[0], self._original_indices[str(path[0])][path[1]], *path[2:])
        return fault._replace(path=path)

    def _take_out(self, found: list[Fault], sound: dict[str, Any]) -> None:
        self.faults += [self.map_to_file(fault) for fault in found]
        for path in sorted({fault.path[:2] for fault in found}, key=_removal_order):
            self._remove(path, sound)

    def _remove(self, path: Path, sound: dict[str, Any]) -> None:
        key = str(path[0]) if path else ""
        if key == "parameters" and len(path) > 1 and path[1] in sound[key]:
            sound[key][path[1]] = [1]
            self.guessed.add(str(path[1]))
        elif key == "metrics" and len(path) > 1 and path[1] in sound[key]:
            del sound[key][path[1]]
            self.lost.add(str(path[1]))
        elif key in self._original_indices and len(path) > 1 and isinstance(path[1], int):
            del sound[key][path[1]], self._original_indices[key][path[1]]
        else:
            self._replace(key, sound)

    def _replace(self, key: str, sound: dict[str, Any]) -> None:
        sound.pop(key, None)
        self.broken |= {key, _guess_key(key)}
        for name, stand_in in _STAND_IN.items():
            if name not in sound:
                sound[name] = stand_in
                self.broken.add(name)


def _removal_order(path: Path) -> tuple[str, int]:
    """So that taking out an item does not move those that are yet to be taken out."""
    return str(path[0]) if path else "", -path[1] if len(path) > 1 and isinstance(path[1], int) else 0


def _guess_key(key: str) -> str:
    """The key that a misspelt one stands for: it is not missing, it is wrong."""
    guess = suggest_name(key, Experiment.model_fields)
    return guess.split("'")[1] if guess and key not in Experiment.model_fields else key
