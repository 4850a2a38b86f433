"""Phases and their copies that have ended: how, and what they say."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from steelyard.controller.trial.lockstep import Punctuality
from steelyard.controller.trial.window import Window
from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host
from steelyard.model.command import Command, Exit
from steelyard.model.condition_check import ConditionCheck
from steelyard.model.metric import Mark, Reading


@dataclass(frozen=True, slots=True)
class CopyResult:
    """A copy that ended: which, what it was, how, what it says (None: not measured), or its failure."""

    name: str
    host: Host
    command: Command
    exit: Exit
    reading: Reading | None = None
    failure: TrialFailure | None = None
    condition_check: ConditionCheck | None = None

    def document(self) -> dict[str, Any]:
        """For `trial.json`. The environment that a command adds is ours, never the user's."""
        return {
            "copy": self.name,
            "host": self.host.name,
            "argv": list(self.command.argv),
            "env": dict(self.command.env),
            "exit": dataclasses.asdict(self.exit),
            **({"wrap": self.condition_check.record()} if self.condition_check else {}),
        }


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """A phase with all its copies. `reading` is that of the copies together; None when it is not measured.

    `window` is when its copies worked, where they have rates that add up.
    """

    name: str
    copies: tuple[CopyResult, ...]
    reading: Reading | None = None
    start: Punctuality | None = None
    window: Window | None = None

    def marks(self) -> list[Mark]:
        """Of what copies were to be put under, and were not."""
        return [mark for copy in self.copies if copy.condition_check for mark in copy.condition_check.marks()]

    def documents(self) -> list[dict[str, Any]]:
        """For `trial.json`: one entry a copy."""
        return [{"phase": self.name, **copy.document()} for copy in self.copies]

    def user_time(self, host_names: frozenset[str]) -> float:
        """CPU seconds in user mode of the copies on these hosts."""
        return sum(copy.exit.user for copy in self.copies if copy.host.name in host_names)
