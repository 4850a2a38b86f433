"""The kind `environment`: what surrounds a program on its host, chosen with `wrap: {in: NAME}`.

An environment only describes: it turns a command into the one that starts it inside. Whoever starts programs
starts that one instead, so that every workload and service runs in every environment.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from steelyard.model.command import Command
from steelyard.model.environment import ImageForm, Inside
from steelyard.model.tool import Tool

CARRIED = ("STEELYARD_TOKEN", "STEELYARD_CHILD")
"""Variables by which `clean` knows what is ours, also inside."""


class EnvironmentOptions(BaseModel):
    """An environment takes no options: what surrounds a program must be the same wherever it is named."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True)
class Environment(ABC):
    """Base of all environments. The subclass's docstring says what it is, its source, and what it isolates.

    It sets:

    - `images`: the forms of images that it can make a root of; `host` where it needs none;
    - `needs`: the programs that it takes on the host;
    - `limits_itself`: whether it leaves the control group that it is started in, so that it must hold the
      limits of `Inside` itself;
    - `most_cores`: how many CPUs a program can have inside, or None for those of its host;
    - `has_network`: whether it has a network inside;
    - `has_accounts`: whether root can give itself up for another account inside, as servers do;
    - `caveat`: what its figures do not say, for every reader of a result;
    - `covers`: ids of published requirements.
    """

    name: str

    Options: ClassVar[type[EnvironmentOptions]] = EnvironmentOptions
    images: ClassVar[frozenset[ImageForm]] = frozenset()
    needs: ClassVar[tuple[Tool, ...]] = ()
    limits_itself: ClassVar[bool] = False
    most_cores: ClassVar[int | None] = None
    has_network: ClassVar[bool] = True
    has_accounts: ClassVar[bool] = True
    caveat: ClassVar[str] = ""
    covers: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)

    def enter(self, command: Command, inside: Inside) -> Command:
        """The command that starts a command inside, with all its variables. Pure."""
        variables = sorted({*command.variables, *CARRIED})
        argv = tuple(self.words(command.argv, inside, variables))
        return replace(command, argv=argv, cwd=None)

    @abstractmethod
    def words(self, argv: tuple[str, ...], inside: Inside, variables: list[str]) -> Iterator[str]:
        """The program with its arguments. `variables`: names of those that must reach the program; their
        values may be secret, so they are in no word.
        """

    def list_left(self) -> Command | None:
        """What prints the tokens of those that left something when they were killed; None: none can."""
        return None

    def remove_left(self, token: str) -> Command | None:
        """What removes that which those of a run left, whose processes bear this token in STEELYARD_TOKEN."""
        return None
