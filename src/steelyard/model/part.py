"""The base of everything that an experiment file holds."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """Base of everything in an experiment: frozen, and no key is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
