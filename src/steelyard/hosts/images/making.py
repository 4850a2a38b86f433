"""Images that a file describes, made on a host by mmdebstrap or of an archive, once for all runs of its user.

They lie in the user's cache there, by the digest of what they are made of. One appears whole or not at all:
it is made beside its place and renamed. Packages are verified by the distribution's keys, as apt does.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.hosts.cache import find_cache
from steelyard.hosts.short_programs import run_short_program
from steelyard.model.command import Command
from steelyard.model.keys.image import ImageRecipe

PATIENCE = 1800.0
"""Seconds for making one: a slow mirror and many packages."""

# Without a suite, the archive lies in `given`. The files come as pairs of path and text. A link of the image
# may lead out of it, so what a path really is is looked at before anything is written.
_MAKE = """\
set -eu
place=$1 what=$2 given=$3 suite=$4 packages=$5 mirror=$6; shift 6
work=$(mktemp -d "${place%/*}/.new-XXXXXX")
tar=$work/root.tar root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
include=${packages:+--include=$packages}
if [ "$given" ]; then tar=$given
else mmdebstrap --quiet --variant=minbase --format=tar $include "$suite" "$tar" ${mirror:+"$mirror"} >&2
fi
mkdir "$root"
owner=--no-same-owner
[ "$(id -u)" != 0 ] || owner=--same-owner
tar --extract --file="$tar" --directory="$root" --exclude='./dev/*' $owner
while [ $# -gt 0 ]; do
    there=$root${1%/*}
    until [ -d "$there" ]; do there=${there%/*}; done
    real=$(cd "$there" && pwd -P)
    case $real/ in "$root/"*) ;; *) echo "$1 leads out of the image" >&2; exit 1 ;; esac
    mkdir -p "$root${1%/*}"
    rm -f "$root$1"
    printf %s "$2" > "$root$1"
    shift 2
done
{
    echo "what $what"
    echo "sha256 $(sha256sum < "$tar" | cut -d ' ' -f 1)"
    echo "kilobytes $(du -sk "$root" | cut -f 1)"
    packages=$root/var/lib/dpkg/status
    [ ! -f "$packages" ] || [ -L "$packages" ] ||
        sed -n 's/^Package: /package /p; s/^Version: /version /p' "$packages"
} > "$work/about"
rm -f "$work/root.tar"
[ -e "$place" ] || mv "$work" "$place"
"""


@dataclass(frozen=True, slots=True)
class MadeImage:
    """What was made: its root, what of, the SHA-256 of its archive, its size (bytes), versions by package."""

    root: PurePosixPath
    what: str
    sha256: str
    size: int
    packages: dict[str, str]

    @property
    def digest(self) -> str:
        """What names it in the cache."""
        return self.root.parent.name

    @classmethod
    def parse(cls, root: PurePosixPath, about: str) -> Self:
        """From what was written down of it. Raises HostError where that is damaged."""
        facts = dict(re.findall(r"^(sha256|kilobytes) ([0-9a-f]+)$", about, re.MULTILINE))
        what = re.search(r"^what (.+)$", about, re.MULTILINE)
        packages = dict(re.findall(r"^package (\S+)\nversion (\S+)$", about, re.MULTILINE))
        if not {"sha256", "kilobytes"} <= facts.keys() or not facts["kilobytes"].isdecimal():
            raise HostError(f"image {root.parent} is damaged", hint="remove that directory; it is made again")
        return cls(root, what[1] if what else "", facts["sha256"], int(facts["kilobytes"]) << 10, packages)

    def describe(self) -> dict[str, Any]:
        """For the record."""
        return {"what": self.what, "sha256": self.sha256, "bytes": self.size, "packages": self.packages}


async def find_root(host: Host, recipe: ImageRecipe) -> PurePosixPath:
    """Where an image is, or will be. Raises HostError."""
    return await _find_images(host) / recipe.digest / "root"


async def read_image(host: Host, recipe: ImageRecipe) -> MadeImage | None:
    """One that was made; None where it was not. Raises HostError."""
    root = await find_root(host, recipe)
    path = str(root.parent / "about")
    about = (await host.read([path])).get(path)
    return None if about is None else MadeImage.parse(root, about)


async def list_images(host: Host) -> list[MadeImage]:
    """All that were made on a host for its user, but for damaged ones. Raises HostError."""
    abouts = await host.read([str(await _find_images(host) / "*" / "about")])
    made = []
    for path, about in sorted(abouts.items()):
        with suppress(HostError):
            made.append(MadeImage.parse(PurePosixPath(path).parent / "root", about))
    return made


async def remove_image(host: Host, image: MadeImage) -> None:
    """Remove one from a host. Raises HostError."""
    if (
        await host.capture(("rm", "-rf", "--one-file-system", str(image.root.parent)), seconds=PATIENCE)
        is None
    ):
        raise HostError(f"host {host.name}: image {image.root.parent} cannot be removed")


async def make_image(host: Host, recipe: ImageRecipe, logs: Path, archive: Path | None = None) -> MadeImage:
    """Make one on a host, and say what was made. Raises HostError with the last words of what failed.

    `archive` holds the files of an image that is not made of packages, on this machine.
    """
    root, label = await find_root(host, recipe), f"image-{recipe.digest[:8]}"
    images = root.parent.parent
    if archive is None:
        await _require_mmdebstrap(host)
    if await host.capture(("mkdir", "-p", "-m", "700", str(images))) is None:
        raise HostError(f"host {host.name}: directory {images} cannot be made")
    packages, files = ",".join(sorted(set(recipe.packages))), sum(recipe.files.items(), ())
    async with _bring(host, archive, images) as given:
        words = (
            str(root.parent),
            recipe.describe(),
            given,
            recipe.suite or "",
            packages,
            recipe.mirror or "",
        )
        command = Command(("sh", "-c", _MAKE, "sh", *words, *files))
        await run_short_program(host, command, cwd=images, logs=logs, label=label, seconds=PATIENCE)
    made = await read_image(host, recipe)
    if made is None:
        raise HostError(f"{label} was made on {host.name}, and is not there")
    return made


async def _find_images(host: Host) -> PurePosixPath:
    return await find_cache(host) / "images"


async def _require_mmdebstrap(host: Host) -> None:
    if not await host.which("mmdebstrap"):
        hint = "install it there (apt install mmdebstrap), or name a directory: `image: /var/images/debian`"
        raise HostError(f"an image is made by mmdebstrap, which {host.name} does not have", hint=hint)


@asynccontextmanager
async def _bring(host: Host, archive: Path | None, images: PurePosixPath) -> AsyncIterator[str]:
    """Where an archive is on a host for as long as the block lasts; empty for none."""
    if archive is None or host.shares_files:
        yield str(archive or "")
        return
    brought = images / f".{secrets.token_hex(8)}.tar"
    try:
        await host.put(archive, brought)
        yield str(brought)
    finally:
        await host.capture(("rm", "-f", str(brought)))
