"""Images that a file describes: `images: {base: {suite: bookworm, packages: [fio]}}`."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from steelyard.model.part import Part
from steelyard.model.tool import Tool

MMDEBSTRAP = Tool("mmdebstrap", apt="mmdebstrap", dnf="mmdebstrap")
"""What makes an image."""

_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}(=[A-Za-z0-9.+~:-]{1,60})?")
_MOST_TEXT = 1 << 16


def _check_path(value: str) -> str:
    path = PurePosixPath(value)
    if not path.is_absolute() or ".." in path.parts or str(path) != value or value == "/":
        raise ValueError(f"'{value}' is not an absolute path of a file, without '..'")
    return value


class ImageRecipe(Part):
    """What an image is made of: a release of Debian, packages with what they need, and files."""

    suite: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{1,30}$")] = Field(
        description="The release of Debian, such as bookworm"
    )
    packages: tuple[str, ...] = Field(
        (), description="Packages beside the smallest system, such as fio, or fio=3.33-3 for a version"
    )
    files: dict[Annotated[str, AfterValidator(_check_path)], Annotated[str, Field(max_length=_MOST_TEXT)]] = (
        Field(default_factory=dict, description="Text files to put in, each by its absolute path")
    )
    mirror: Annotated[str, Field(pattern=r"^https?://[A-Za-z0-9._~:/-]{1,200}$")] | None = Field(
        None,
        description="Where packages come from; the archive of a day at snapshot.debian.org makes the same "
        "image again. Default: the mirror of the machine that makes it",
    )

    @field_validator("packages")
    @classmethod
    def _check_packages(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _PACKAGE.fullmatch(name):
                raise ValueError(f"'{name}' is not the name of a package")
        return value

    @property
    def digest(self) -> str:
        """The same for all that say the same, in whatever order."""
        said = self.model_dump(mode="json") | {"packages": sorted(set(self.packages))}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]

    def __hash__(self) -> int:
        return hash(self.digest)
