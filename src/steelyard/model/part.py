"""The base of everything that an experiment file holds."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """Base of everything in an experiment: frozen, and no key is ignored.

    What pydantic makes of a class is made when it is first asked for, as a part of what holds it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
