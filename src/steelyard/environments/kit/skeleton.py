"""A root in which anything can be mounted, though nothing is written to the image that it is made of.

It is new and empty, and what lies in the image is mounted into it: each by itself in those directories below
which a mount is to come. So the image of `/home/ada/scratch` needs no mount point, and may belong to others.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

OWN = ("/proc", "/sys", "/dev", "/tmp")  # noqa: S108
"""Where a container has something of its own instead of the image's."""

_LOOP = """\
image=$1 left_out=$2 opened=$3; shift 3
while [ "$opened" -gt 0 ]; do
    within=$1 opened=$((opened - 1)); shift
    for found in "$image$within"/* "$image$within"/.[!.]*; do
        [ -e "$found" ] || continue
        name=${found#"$image"}
        case "$left_out" in *"
$name
"*) ;; *) ADD ;; esac
    done
done
"""

IS_WHOLE = """\
set -f
whole=yes IFS='
'
for place in $2; do [ -d "$1$place" ] && [ ! -L "$1$place" ] || whole=; done
set +f
"""
"""A script of sh whose arguments are `list_arguments`: $whole is yes if the image has all mount points."""


def write_loop(add: str) -> str:
    """A script of sh that does `add` for each part of an image: $found is its path, $name where it belongs.

    Its arguments are `list_arguments`, and then those of `add`, which are all that is left of them after it.
    """
    return _LOOP.replace("ADD", add)


def list_arguments(image: str, mounts: Iterable[str], *others: str) -> tuple[str, ...]:
    """An image, into which `mounts` go; at the `others`, something else than its own.

    The second argument has a line for each directory that is not the image's own, and for those above them.
    """
    lacking = [path for path in map(PurePosixPath, mounts) if not any(map(path.is_relative_to, others))]
    places = [*lacking, *map(PurePosixPath, others)]
    above = sorted({"/", *(str(parent) for place in places for parent in place.parents)})
    opened = ["" if path == "/" else path for path in above]
    return image, "\n".join(("", *opened, *map(str, places), "")), str(len(opened)), *opened
