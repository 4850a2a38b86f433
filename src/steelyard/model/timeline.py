"""Events on a timeline: the entries of `timeline`.

`- {during: run, at: 30s, do: grow, service: ring, to: 4}` fires half a minute after the phase `run` began.
`- {when: ring.settled, for: 10s, within: 3min, do: grow, service: ring, to: 5}` fires once a condition has
held for a while. Entries fire in the order of the file, each after the one before it is complete; one with
`every` fires again and again beside the others.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.model.expression import Expression, ExpressionError
from steelyard.units import Duration

OWN_KEYS = ("during", "at", "every", "when", "for", "within", "do")
SETTLED = "settled"


class Entry(BaseModel):
    """One entry: what is done, and when."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    do: str = Field(description="The event's name; `steelyard catalog` lists them")
    during: str | None = Field(None, description="The phase that it belongs to; the first measured one")
    at: Duration | None = Field(None, description="So long after the phase began")
    every: Duration | None = Field(None, description="Again after each so long, until the phase ends")
    when: str | None = Field(
        None, description="A condition on services, as ring.settled or ring.pending_compactions < 5"
    )
    hold: Duration = Field(
        Duration(0.0), alias="for", description="How long the condition must hold before it fires"
    )
    within: Duration | None = Field(
        None, description="How long to wait for the condition, and for the event; then the trial fails"
    )
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("every")
    @classmethod
    def _not_too_often(cls, value: Duration | None) -> Duration | None:
        if value is not None and value < 0.1:
            raise ValueError(f"{value} is too often; at least 100ms lie between two events")
        return value

    @field_validator("when")
    @classmethod
    def _condition(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                Expression.parse(value, dotted=True)
            except ExpressionError as error:
                raise ValueError(f"'{value:.60}': {error.message}") from error
        return value

    @model_validator(mode="after")
    def _one_moment(self) -> Self:
        if self.when is not None and (self.at is not None or self.every is not None):
            raise ValueError("'when' waits for a condition, 'at' and 'every' for a time: give one of them")
        if self.when is None and self.hold:
            raise ValueError("'for' says how long the condition of 'when' must hold, and there is none")
        return self

    def as_file(self) -> dict[str, Any]:
        """As it stands in a file."""
        own = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"options"})
        return {**own, **self.options}


def widened(value: object) -> object:
    """Options stand beside the entry's own keys in the file; they are parted here."""
    if not isinstance(value, dict) or "options" in value:
        return value
    own = {key: value[key] for key in OWN_KEYS if key in value}
    return {**own, "options": {key: item for key, item in value.items() if key not in own}}
