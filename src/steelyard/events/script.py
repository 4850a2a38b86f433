"""`do: script`: what a function of the user's says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from steelyard.plugin import HostError
from steelyard.plugin.event import Event, EventOptions


class ScriptOptions(EventOptions):
    """Which function."""

    use: str = Field(description="A file and a generator function in it, such as chaos.py:chaos")

    @field_validator("use")
    @classmethod
    def _check_use(cls, value: str) -> str:
        file, _, name = value.rpartition(":")
        if not file.endswith(".py") or not name.isidentifier():
            raise ValueError(f"'{value}' must name a file and a function in it, such as chaos.py:chaos")
        return value


class RunScript(Event[ScriptOptions]):
    """Run a Python generator function that yields timeline entries and receives the result of each.

    For schedules with logic, such as killing a random node or reacting to earlier results. `use:
    chaos.py:chaos` alone is the short form; the path is relative to the experiment file's folder. The
    function receives the trial (parameters, a seeded random number generator, seconds of the phase, states of
    the services); each entry that it yields is checked, recorded and healed like one in the experiment file.
    The file runs **on your machine with your rights**, because you named it. A copy is saved with the run.
    """

    Options = ScriptOptions
    examples = ({"use": "chaos.py:chaos"},)

    async def happen(self) -> Mapping[str, Any]:
        """Nothing by itself: the timeline plays it, entry by entry."""
        raise HostError("event script: it can run only in a timeline")
