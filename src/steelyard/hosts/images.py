"""Images that a file describes, made on a host by mmdebstrap, once for all runs of its user.

They lie in the user's cache there, by the digest of what they are made of. One appears whole or not at all:
it is made beside its place and renamed. Packages are verified by the distribution's keys, as apt does.
"""

from __future__ import annotations

import re
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

# The files come as pairs of path and text. A link of the image may lead out of it, so what a path really is
# is looked at before anything is written.
_MAKE = """\
set -eu
place=$1 suite=$2 packages=$3 mirror=$4; shift 4
mkdir -p -m 700 "${place%/*}"
work=$(mktemp -d "${place%/*}/.new-XXXXXX")
tar=$work/root.tar root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
include=${packages:+--include=$packages}
mmdebstrap --quiet --variant=minbase --format=tar $include "$suite" "$tar" ${mirror:+"$mirror"} >&2
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
    echo "sha256 $(sha256sum < "$tar" | cut -d ' ' -f 1)"
    echo "kilobytes $(du -sk "$root" | cut -f 1)"
    sed -n 's/^Package: /package /p; s/^Version: /version /p' "$root/var/lib/dpkg/status"
} > "$work/about"
rm "$tar"
[ -e "$place" ] || mv "$work" "$place"
"""


@dataclass(frozen=True, slots=True)
class MadeImage:
    """What was made: its root, the SHA-256 of its archive, its size in bytes, versions by package."""

    root: PurePosixPath
    sha256: str
    size: int
    packages: dict[str, str]

    @classmethod
    def parse(cls, root: PurePosixPath, about: str) -> Self:
        """From what was written down of it. Raises HostError where that is damaged."""
        facts = dict(re.findall(r"^(sha256|kilobytes) ([0-9a-f]+)$", about, re.MULTILINE))
        packages = dict(re.findall(r"^package (\S+)\nversion (\S+)$", about, re.MULTILINE))
        if not {"sha256", "kilobytes"} <= facts.keys() or not facts["kilobytes"].isdecimal():
            raise HostError(f"image {root.parent} is damaged", hint="remove that directory; it is made again")
        return cls(root, facts["sha256"], int(facts["kilobytes"]) << 10, packages)

    def describe(self) -> dict[str, Any]:
        """For the record."""
        return {"sha256": self.sha256, "bytes": self.size, "packages": self.packages}


async def find_root(host: Host, recipe: ImageRecipe) -> PurePosixPath:
    """Where an image is, or will be. Raises HostError."""
    return await find_cache(host) / "images" / recipe.digest / "root"


async def read_image(host: Host, recipe: ImageRecipe) -> MadeImage | None:
    """One that was made; None where it was not. Raises HostError."""
    root = await find_root(host, recipe)
    path = str(root.parent / "about")
    about = (await host.read([path])).get(path)
    return None if about is None else MadeImage.parse(root, about)


async def make_image(host: Host, recipe: ImageRecipe, scratch: PurePosixPath, logs: Path) -> MadeImage:
    """Make one on a host, and say what was made. Raises HostError with the last words of what failed."""
    root = await find_root(host, recipe)
    if not await host.which("mmdebstrap"):
        hint = "install it there (apt install mmdebstrap), or name a directory: `image: /var/images/debian`"
        raise HostError(f"an image is made by mmdebstrap, which {host.name} does not have", hint=hint)
    packages, files = ",".join(sorted(set(recipe.packages))), sum(recipe.files.items(), ())
    words = ("sh", "-c", _MAKE, "sh", str(root.parent), recipe.suite, packages, recipe.mirror or "", *files)
    label = f"image-{recipe.digest[:8]}"
    await run_short_program(host, Command(words), cwd=scratch, logs=logs, label=label, seconds=PATIENCE)
    made = await read_image(host, recipe)
    if made is None:
        raise HostError(f"{label} was made on {host.name}, and is not there")
    return made
