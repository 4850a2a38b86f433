"""What a file says of a server of the user's: how it is started, when it is ready, how it ends."""

from __future__ import annotations

import re
import signal
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import Duration
from steelyard.plugin.service import Program, ServiceOptions, to_word

WAYS = ("port", "line", "url", "command")


class ReadyOptions(ServiceOptions):
    """How it shows that it serves: one of four ways."""

    port: Literal[True] | None = Field(None, description="It is ready when it listens on its port (default)")
    line: str | None = Field(None, description="A pattern that a line of its stdout or stderr matches")
    url: str | None = Field(
        None, description="An HTTP path, such as /health, that it answers with 2xx or 3xx"
    )
    command: tuple[str, ...] | None = Field(
        None, min_length=1, description="A program on its host that exits with code 0 when it is ready"
    )
    within: Duration | None = Field(None, gt=0, description="Time limit for becoming ready; default: 30s")

    @field_validator("line")
    @classmethod
    def _check_line(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"'{value}' is not a regular expression: {error}") from None
        return value

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"/[!-~]*", value):
            raise ValueError(
                f"'{value:.60}' is not a path such as /health; for HTTPS or another host, use 'command'"
            )
        return value

    @field_validator("command", mode="before")
    @classmethod
    def _normalize_command(cls, value: object) -> object:
        return [to_word(part) for part in value] if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _check_one_way(self) -> Self:
        options = [way for way in WAYS if getattr(self, way) is not None]
        if len(options) > 1:
            raise ValueError(f"give only one of {', '.join(WAYS)}, not {' and '.join(options)}")
        return self


class StopOptions(ServiceOptions):
    """How it is asked to end."""

    signal: str = Field("SIGTERM", description="The signal that requests an orderly end")
    within: Duration = Field(
        Duration(10.0), gt=0, description="Time limit for ending; after that it is killed, with a warning"
    )

    @field_validator("signal")
    @classmethod
    def _check_signal(cls, value: str) -> str:
        name = value if value.startswith("SIG") else f"SIG{value}"
        if name not in signal.Signals.__members__:
            raise ValueError(f"'{value}' is not a signal such as SIGTERM, SIGINT or SIGQUIT")
        return name


class CheckpointHooks(ServiceOptions):
    """How it saves its state while it runs, and how it goes on from that."""

    signal: Literal["SIGUSR1", "SIGUSR2", "SIGHUP"] | None = Field(
        None, description="A signal that has it write its state file under another name and rename it"
    )
    command: tuple[str, ...] | None = Field(
        None, min_length=1, description="A program on its host that ends with 0 when the state file is there"
    )
    state_file: str = Field(
        min_length=1, description="The file with its state; relative to the service's scratch"
    )
    restore: tuple[str, ...] = Field(
        min_length=1, description="The program and its arguments that go on from that file"
    )
    within: Duration = Field(Duration(60.0), gt=0, description="Time limit for saving")

    @field_validator("command", "restore", mode="before")
    @classmethod
    def _convert_words(cls, value: object) -> object:
        return [to_word(part) for part in value] if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _check_request(self) -> Self:
        if (self.signal is None) == (self.command is None):
            raise ValueError("give either 'signal' or 'command'")
        return self


class ProgramOptions(Program, ServiceOptions):
    """How it is started, on which ports, when it is ready, and how it ends."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Its port, the same on all hosts. Default: a free one."
    )
    ports: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")], ...] = Field(
        (), description="Names of additional ports: [admin] is ${self.admin_port}. They follow `port`."
    )
    ready: ReadyOptions = Field(
        default_factory=ReadyOptions,
        description="How to detect that it is ready: port, line, url or command.",
    )
    stop: StopOptions = Field(
        default_factory=StopOptions, description="The signal that ends it, and the time limit."
    )
    checkpoint: CheckpointHooks | None = Field(
        None,
        description="How the events `checkpoint` and `restore` have it save its state and go on from it.",
    )
    authentication: str | None = Field(
        None,
        min_length=1,
        description="What clients must present, in your words: `a token`. By default, it counts as "
        "open to everyone.",
    )
