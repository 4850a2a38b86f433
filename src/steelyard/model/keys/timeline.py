"""Events on a timeline: the entries of `timeline`.

`- {during: run, at: 30s, do: grow, service: ring, to: 4}` fires half a minute after the phase `run` began.
`- {when: ring.settled, for: 10s, within: 3min, do: grow, service: ring, to: 5}` fires once a condition has
held for a while. Entries fire in the order of the file, each after the one before it is complete; one with
`every` fires again and again beside the others. `- {use: chaos.py:chaos}`, short for `do: script`, stands for
entries that a generator function of the user's yields while the phase goes on.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, Protocol, Self

from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from steelyard.model.expression import ExpressionError
from steelyard.model.keys.condition import parse_condition
from steelyard.model.keys.plugin_use import PlugInUse, short_name
from steelyard.units import Duration

OWN_KEYS = ("during", "at", "every", "when", "for", "within", "do")
SETTLED = "settled"
SCRIPT = "script"


class EventFunction(Protocol):
    """A generator function: it is given what it may know of its trial, and yields entries."""

    __name__: str
    __code__: CodeType

    def __call__(self, trial: Any, /) -> Generator[Any, Any, Any]:
        """Begin."""


class Entry(PlugInUse):
    """One entry: what is done, and when."""

    model_config = ConfigDict(populate_by_name=True)
    plugin_key: ClassVar[str] = "do"

    do: str = Field(
        description="The event's name; `steelyard catalog` lists them. Or a Python file next to the "
        "experiment file, such as ./my_event.py"
    )
    during: str | None = Field(
        None,
        description="The phase during which it happens; default: the first measured one. A single entry of "
        "`workload` without a phase is `run`",
    )
    at: Duration | None = Field(None, description="Time after the start of the phase")
    every: Duration | None = Field(None, description="The interval at which it repeats until the phase ends")
    when: str | None = Field(
        None, description="A condition on services, such as ring.settled or ring.pending_compactions < 5"
    )
    hold: Duration = Field(
        Duration(0.0), alias="for", description="How long the condition must hold before it fires"
    )
    within: Duration | None = Field(
        None, description="How long to wait for the condition and the event before the trial fails"
    )
    options: dict[str, Any] = Field(default_factory=dict)
    _function: EventFunction | None = PrivateAttr(None)  # what `do: script` names, once it is there

    @classmethod
    def of(cls, function: EventFunction) -> Self:
        """The entry that stands for a generator function. Raises ValueError when it is none."""
        if not inspect.isgeneratorfunction(function):
            name = getattr(function, "__name__", repr(function))
            raise ValueError(f"'{name}' is not a generator function: it must `yield` entries")
        file = Path(inspect.getsourcefile(function) or "unknown.py").name
        return cls(do=SCRIPT, options={"use": f"{file}:{function.__name__}"}).with_function(function)

    def with_function(self, function: EventFunction) -> Self:
        """The same entry with the function that it names."""
        entry = self.model_copy()
        entry._function = function
        return entry

    @property
    def function(self) -> EventFunction | None:
        """Of `do: script`: the function, where it has been looked up."""
        return self._function

    @field_validator("every")
    @classmethod
    def _check_every(cls, value: Duration | None) -> Duration | None:
        if value is not None and value < 0.1:
            raise ValueError(f"{value} is too short; leave at least 100ms between events")
        return value

    @field_validator("when")
    @classmethod
    def _check_when(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                parse_condition(value)
            except ExpressionError as error:
                raise ValueError(f"'{value:.60}': {error.message}") from error
        return value

    @model_validator(mode="after")
    def _check_moment(self) -> Self:
        if self.when is not None and (self.at is not None or self.every is not None):
            raise ValueError(
                "'when' waits for a condition, 'at' and 'every' for a time: give only one of them"
            )
        if self.do == SCRIPT and self.every is not None:
            raise ValueError("'every' cannot be used with a function; repeat events in the function instead")
        if self.when is None and self.hold:
            raise ValueError("'for' is how long the condition of 'when' must hold; add 'when'")
        return self

    def to_tree(self) -> dict[str, Any]:
        """As it stands in a file."""
        own = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"options"})
        return {**own, **self.options}


def widen_entry(value: object) -> object:
    """Options stand beside the entry's own keys in the file; they are parted here."""
    if inspect.isfunction(value):
        return Entry.of(value)
    if not isinstance(value, dict) or "options" in value:
        return value
    if "use" in value and "do" not in value:
        value = {"do": SCRIPT, **value}
    own = {key: value[key] for key in OWN_KEYS if key in value}
    return {**own, "options": {key: item for key, item in value.items() if key not in own}}


def event_prefix(entries: Sequence[Entry], index: int) -> str:
    """What an entry's figures are called by: `grow_`, or `grow_2_` for the second of several.

    Empty for what happens nobody knows how often: entries with `every`, and functions.
    """
    do = short_name(entries[index].do)
    same = [
        place for place, entry in enumerate(entries) if short_name(entry.do) == do and entry.every is None
    ]
    if do == SCRIPT or index not in same:
        return ""
    return f"{do}_" if len(same) == 1 else f"{do}_{same.index(index) + 1}_"
