"""What a file says of a server of the user's: how it is started, when it is ready, how it ends."""

from __future__ import annotations

import re
import signal
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.model.program import Program, as_word
from steelyard.services.base import ServiceOptions
from steelyard.units import Duration

WAYS = ("port", "line", "url", "command")


class ReadyOptions(ServiceOptions):
    """How it shows that it serves: one of four ways."""

    port: Literal[True] | None = Field(None, description="It listens on its port; what holds by default")
    line: str | None = Field(None, description="A pattern that a line of its output or of its errors holds")
    url: str | None = Field(None, description="A path, as /health, that it answers by HTTP with 2xx or 3xx")
    command: tuple[str, ...] | None = Field(
        None, min_length=1, description="A program on its host that then ends with code 0"
    )
    within: Duration | None = Field(None, gt=0, description="How long it may take until then; by default 30s")

    @field_validator("line")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"'{value}' is not a regular expression: {error}") from None
        return value

    @field_validator("url")
    @classmethod
    def _path(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"/[!-~]*", value):
            raise ValueError(f"'{value:.60}' is no path, as /health; for HTTPS or another host use 'command'")
        return value

    @field_validator("command", mode="before")
    @classmethod
    def _words(cls, value: object) -> object:
        return [as_word(part) for part in value] if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        chosen = [way for way in WAYS if getattr(self, way) is not None]
        if len(chosen) > 1:
            raise ValueError(f"it is ready by one of {', '.join(WAYS)}, not by {' and '.join(chosen)}")
        return self


class StopOptions(ServiceOptions):
    """How it is asked to end."""

    signal: str = Field("SIGTERM", description="The signal that asks it to end in good order")
    within: Duration = Field(
        Duration(10.0), gt=0, description="How long it has for that; then it is killed, and a warning says so"
    )

    @field_validator("signal")
    @classmethod
    def _known(cls, value: str) -> str:
        name = value if value.startswith("SIG") else f"SIG{value}"
        if name not in signal.Signals.__members__:
            raise ValueError(f"'{value}' is no signal, as SIGTERM, SIGINT or SIGQUIT")
        return name


class ProgramOptions(Program, ServiceOptions):
    """How it is started, on which ports, when it is ready, and how it ends."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Its port, the same on all hosts. Default: one that is free."
    )
    ports: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")], ...] = Field(
        (), description="Names of further ports: [admin] is ${self.admin_port}. They follow `port`."
    )
    ready: ReadyOptions = Field(
        default_factory=ReadyOptions, description="When it can be used: by port, line, url or command."
    )
    stop: StopOptions = Field(
        default_factory=StopOptions, description="By which signal it ends, and within which time."
    )
    authentication: str | None = Field(
        None,
        min_length=1,
        description="What it asks of whoever connects, in your words: `a token`. By default it is taken "
        "to be open to everybody.",
    )
