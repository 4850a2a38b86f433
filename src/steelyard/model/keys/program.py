"""A program of the user's, as a file says it: words to start, or lines of a shell, and what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.model.command import Command
from steelyard.model.paths import Absolute
from steelyard.model.trial import Scalar

SCRIPT = "script"
"""The option whose `${…}` is the shell's."""


class Program(BaseModel):
    """`run`: the program and its arguments; or `script`: lines for `sh -eu`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    run: tuple[str, ...] | None = Field(
        None,
        description="Program and arguments, not interpreted by a shell. A program or script next to the "
        "experiment file is found there",
    )
    script: str | None = Field(None, description="Lines for sh -eu; parameters are its environment variables")
    env: dict[str, str] = Field(default_factory=dict, description="Environment variables to set")
    cwd: Absolute | None = Field(
        None,
        description="An existing directory on every host, to run in instead of the scratch; "
        "${experiment.dir} is that of the experiment file",
    )

    @field_validator("run", mode="before")
    @classmethod
    def _convert_run(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f"write a list: [{', '.join(value.split()[:4])}]; for shell lines use 'script'")
        return [to_word(part) for part in value] if isinstance(value, list | tuple) else value

    @field_validator("env", mode="before")
    @classmethod
    def _convert_env(cls, value: object) -> object:
        return {key: to_word(part) for key, part in value.items()} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _check_program(self) -> Self:
        if (self.run is None) == (self.script is None):
            raise ValueError("give either 'run: [program, argument, …]' or 'script: |'")
        if self.run is not None and not (self.run and self.run[0]):
            raise ValueError("run: give a program")
        return self

    def command(self, levels: Mapping[str, Scalar], env: Mapping[str, str]) -> Command:
        """What is started: with `env`, its own variables, and the parameters where it is a script."""
        cwd = PurePosixPath(self.cwd) if self.cwd else None
        if self.script is None:
            return Command(self.run or (), {**env, **self.env}, cwd)
        parameters = {name: _format_level(level) for name, level in levels.items()}
        return Command(("sh", "-eu", "-c", self.script), {**parameters, **env, **self.env}, cwd)


def split_scripts(options: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Options without scripts, and the lines of these; also of those that only one kind of a service has."""
    rest, scripts = {key: value for key, value in options.items() if key != SCRIPT}, [options.get(SCRIPT)]
    for key, value in rest.items():
        if isinstance(value, Mapping) and SCRIPT in value:
            rest[key], inner = split_scripts(value)
            scripts.append(inner)
    return rest, "\n".join(script for script in scripts if isinstance(script, str))


def find_mentions(script: str, levels: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The parameters that a script names, as `$size` or `${size}`."""
    return {name: level for name, level in levels.items() if re.search(rf"\$\{{?{name}\b", script)}


def to_word(part: object) -> object:
    """Numbers may stand bare in a list: `[sleep, 0.1]`."""
    return str(part) if isinstance(part, int | float) and not isinstance(part, bool) else part


def _format_level(level: Scalar) -> str:
    """A level as a shell script sees it."""
    if level is None:
        return ""
    return str(level).lower() if isinstance(level, bool) else str(level)
