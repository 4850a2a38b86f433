"""`do: script`: what a function of the user's says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from steelyard.errors import HostError
from steelyard.events.base import Event, EventOptions


class ScriptOptions(EventOptions):
    """Which function."""

    use: str = Field(description="A file and a generator function in it, as chaos.py:chaos")

    @field_validator("use")
    @classmethod
    def _file_and_function(cls, value: str) -> str:
        file, _, name = value.rpartition(":")
        if not file.endswith(".py") or not name.isidentifier():
            raise ValueError(f"'{value}' must name a file and a function in it, as chaos.py:chaos")
        return value


class RunScript(Event[ScriptOptions]):
    """A Python generator function yields entries of the timeline, and is told what came of each.

    For schedules with logic: which node dies is drawn, what happens next depends on what came before. `use:
    chaos.py:chaos` alone is short for it; the file's path is from the experiment file's folder. The function
    gets the trial (parameters, a seeded generator of random numbers, seconds of the phase, states of the
    services), each entry that it yields is checked and recorded as one that stands in the file, and harm is
    healed as always. Its file runs **on your machine with your rights**, because you named it. A copy of it
    is kept with the run.
    """

    options = ScriptOptions
    examples = ({"use": "chaos.py:chaos"},)

    async def happen(self) -> Mapping[str, Any]:
        """Nothing by itself: the timeline plays it, entry by entry."""
        raise HostError("event script: only a timeline can play it")
