"""A suite: experiments that are run one after the other, for one answer.

The words are those of IEEE 829-2008, Standard for Software and System Test Documentation: the file is the
test plan, its experiments are the specifications, their runs the results.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from steelyard.model.experiment import Title
from steelyard.model.part import Part
from steelyard.units import Duration


class SuiteEntry(Part):
    """An experiment of a suite, and what is other there than in its file."""

    file: str = Field(description="The experiment file, relative to the suite's")
    site: str | None = Field(None, description="Where to run it; overrides the file's `site`")
    repeat: Annotated[int, Field(ge=1)] | None = Field(None, description="Repetitions of each cell")
    levels: dict[str, list[Any]] = Field(default_factory=dict, description="Levels of its parameters")

    @field_validator("levels", mode="before")
    @classmethod
    def _check_levels(cls, value: object) -> object:
        if isinstance(value, dict):
            return {name: item if isinstance(item, list) else [item] for name, item in value.items()}
        return value

    @property
    def changes(self) -> dict[str, Any]:
        """What replaces keys of the file."""
        return {"repeat": self.repeat} if self.repeat else {}


def _widen(value: object) -> object:
    return {"file": value} if isinstance(value, str) else value


class Suite(Part):
    """The file `suite.yaml`."""

    suite: Title = Field(description="The suite's name, which becomes part of its id")
    about: str = Field("", description="What it is to find out, for the summary")
    experiments: tuple[Annotated[SuiteEntry, BeforeValidator(_widen)], ...] = Field(
        min_length=1, description="The experiments, in their order"
    )
    budget: Duration | None = Field(
        None, description="How long all of it may take; what has not begun by then is left out and named"
    )
    not_tested: dict[str, str] = Field(
        default_factory=dict, description="Features that it does not test, each with the reason"
    )
    tags: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Tags of all its runs"
    )
