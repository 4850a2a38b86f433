"""Images that a file describes: `images: {base: {suite: bookworm, packages: [fio]}}`, or `{archive: …}`."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import PurePosixPath
from typing import Annotated, Self

from pydantic import AfterValidator, Field, PrivateAttr, field_validator, model_validator

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
    """What an image is made of: a release of Debian with packages, or an archive; and files."""

    suite: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{1,30}$")] | None = Field(
        None, description="The release of Debian that mmdebstrap makes it of, such as bookworm"
    )
    archive: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="Instead of `suite`, a file beside the experiment: a tar archive of a root, or of an "
        "image, as OCI has it or `docker save` and `podman save` write it",
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

    _content: str = PrivateAttr("")

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.suite is None) == (self.archive is None):
            raise ValueError("give either `suite: bookworm` or `archive: image.tar`")
        if self.archive and (self.packages or self.mirror):
            raise ValueError("packages and mirror are for `suite`; an archive has what it has")
        return self

    @field_validator("packages")
    @classmethod
    def _check_packages(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _PACKAGE.fullmatch(name):
                raise ValueError(f"'{name}' is not the name of a package")
        return value

    def learn_content(self, sha256: str) -> None:
        """Take note of what its archive holds, by the SHA-256 of that."""
        self._content = sha256

    @property
    def content(self) -> str:
        """The SHA-256 of its archive's content, once that is known."""
        return self._content

    @property
    def digest(self) -> str:
        """The same for all that say the same, in whatever order; of an archive, its content counts."""
        said = self.model_dump(mode="json") | {"packages": sorted(set(self.packages))}
        said |= {"archive": self._content} if self.archive else {}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]

    def describe(self) -> str:
        """For people: `bookworm with fio`, or `image.tar`."""
        packages = f" with {', '.join(self.packages)}" if self.packages else ""
        return f"{self.suite or self.archive}{packages}"

    def __hash__(self) -> int:
        said = frozenset(self.packages), frozenset(self.files.items())
        return hash((self.suite, self.archive, self.mirror, *said))
