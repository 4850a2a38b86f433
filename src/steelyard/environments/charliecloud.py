"""Charliecloud."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.plugin.environment import Environment, Inside, Tool

# What is mounted needs a directory to be put on; one that the image lacks is there while the program runs.
_SCRIPT = """\
set -f
image=$1 mounts=$2 made= IFS='
'; shift 2
export USER="${USER:-$(id -un)}"
unset TMPDIR # it would be /tmp inside, instead of the host's
for path in $mounts; do
    lacking=$path
    until [ -e "$image$lacking" ]; do made=$made$lacking$IFS lacking=${lacking%/*}; done
    mkdir -p "$image$path" || exit 125
done
"$@"; code=$?
for path in $made; do rmdir "$image$path" 2>/dev/null; done
exit $code
"""


class Charliecloud(Environment):
    """Containers by Charliecloud's ch-run, which takes no rights and no daemon: a directory or a squashfs.

    The program has user and mount namespaces of its own and an image that it cannot change; processes,
    network and /tmp are its host's. An image must have the directories on which something is mounted; what a
    directory lacks is made there, if it may be written. Source: Priedhorsky and Randles, Charliecloud:
    unprivileged containers for user-defined software stacks in HPC (SC17), and ch-run(1).
    """

    images = frozenset({"directory", "squashfs"})
    has_accounts = False
    needs = (Tool("ch-run", apt="charliecloud-runtime", dnf="charliecloud"),)

    def words(self, argv: tuple[str, ...], inside: Inside, variables: list[str]) -> Iterator[str]:
        """Variables reach the program by themselves."""
        image = str(inside.image)
        mounts = () if inside.form == "squashfs" else inside.mounts
        lacking = (path for path in mounts if not path.startswith("/tmp/"))  # noqa: S108 - it is the host's
        yield from ("sh", "-c", _SCRIPT, "sh", image, "\n".join(lacking), "ch-run")
        for path in inside.mounts:
            yield from ("--bind", path)
        yield from ("--cd", inside.at, image, "--", *argv)
