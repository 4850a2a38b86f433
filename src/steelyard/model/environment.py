"""What surrounds a program on its host, and the images that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from steelyard.model.command import Command
from steelyard.model.control_groups import Limits
from steelyard.model.tool import Tool

ImageForm = Literal["host", "directory", "sif", "squashfs", "name"]

FORMS: Mapping[ImageForm, str] = {
    "host": "the files of the host, which it cannot change: without `image`",
    "directory": "an unpacked root, by its absolute path, such as /var/images/debian",
    "sif": "a file of Apptainer's, such as tool.sif",
    "squashfs": "a squashed root, such as tool.sqfs",
    "name": "the name of one that it has or fetches, such as debian:12",
}
"""What each form of an image is."""

_ENDS: dict[str, ImageForm] = {".sif": "sif", ".sqfs": "squashfs", ".squashfs": "squashfs"}


def find_form(image: str | None) -> ImageForm:
    """The form of an image, by how it is written."""
    if not image:
        return "host"
    for end, form in _ENDS.items():
        if image.endswith(end):
            return form
    return "directory" if image.startswith("/") else "name"


@dataclass(frozen=True, slots=True)
class Inside:
    """How a program is to find things inside.

    It sees the `image` as its root (None: the host's own files, which it cannot change), and the `mounts`,
    absolute paths of the host, where they are outside. It begins in `at`; the first of the mounts is its
    own, for what the environment must write down. `limits` are for an environment that holds them itself;
    it is within those already where others do.
    """

    image: str | None
    mounts: tuple[str, ...] = ()
    at: str = "/"
    limits: Limits = field(default_factory=Limits)

    @property
    def form(self) -> ImageForm:
        """That of the image."""
        return find_form(self.image)


class HasRemains(Protocol):
    """What may leave something on a host though all its processes are gone."""

    def list_left(self) -> Command | None:
        """What prints the tokens of those that left something, a line each; None: none can."""

    def remove_left(self, token: str) -> Command | None:
        """What removes that which those of a run left, whose processes bore this token."""


class Surrounding(HasRemains, Protocol):
    """An environment as all see it who start programs in one; `steelyard.environments.base` explains it."""

    @property
    def name(self) -> str:
        """As the catalogue has it."""

    @property
    def needs(self) -> tuple[Tool, ...]:
        """The programs that it takes on the host."""

    @property
    def limits_itself(self) -> bool:
        """Whether it leaves the control group that it was started in, and so must hold limits itself."""

    @property
    def has_accounts(self) -> bool:
        """Whether root can give itself up for another account inside."""

    @property
    def caveat(self) -> str:
        """What its figures do not say, for every reader of a result; empty where there is nothing."""

    def enter(self, command: Command, inside: Inside) -> Command:
        """The command that starts a command inside."""
