"""`steelyard image`"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import json_option, print_json, site_option
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError
from steelyard.units import show

if TYPE_CHECKING:
    from steelyard.controller.machine.images import BroughtImage


@click.group()
def command() -> None:
    """Bring the images that experiments describe to hosts, list and remove them.

    \b
    steelyard image push boot.yaml                       make the images of a file on this machine
    steelyard image push boot.yaml --site ssh:hosts.yaml
    steelyard image list
    steelyard image rm 3f2a91c

    A run makes the images that it lacks itself, before it measures anything. They are in ~/.cache/steelyard
    on each host.
    """


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@site_option("The site whose hosts are to have them; default: local, this machine")
@json_option
def push(file: Path, site: str | None, as_json: bool) -> int:
    """Make the images of FILE on all hosts of a site, where they are missing.

    \b
    steelyard image push boot.yaml --site ssh:alice@node1,alice@node2
    """
    from steelyard.controller.loop import complete
    from steelyard.controller.machine.images import push_images
    from steelyard.spec.load import load
    from steelyard.spec.sites import resolve

    experiment, _ = load(file)
    if not experiment.images:
        raise UsageError(f"{file} describes no images", hint="docs/how-to/wrap.md shows how to")
    say = _ignore if as_json else echo
    brought = complete(push_images(resolve(site or "local"), experiment.images, experiment.folder, say))
    return _show(brought, as_json)


@command.command("list")
@site_option("The site whose hosts are asked; default: local, this machine")
@json_option
def list_(site: str | None, as_json: bool) -> int:
    """List the images on the hosts of a site.

    \b
    steelyard image list --site ssh:hosts.yaml
    """
    from steelyard.controller.loop import complete
    from steelyard.controller.machine.images import visit_images
    from steelyard.spec.sites import resolve

    return _show(complete(visit_images(resolve(site or "local"))), as_json)


@command.command()
@click.argument("digests", nargs=-1, required=True, metavar="DIGEST...")
@site_option("The site whose hosts have them; default: local, this machine")
def rm(digests: tuple[str, ...], site: str | None) -> int:
    """Remove images by the first letters of their DIGEST, as `image list` shows them.

    \b
    steelyard image rm 3f2a91c

    Remove none that a run is using.
    """
    from steelyard.controller.loop import complete
    from steelyard.controller.machine.images import visit_images
    from steelyard.spec.sites import resolve

    if short := next((digest for digest in digests if len(digest) < 4), None):
        raise UsageError(f"{short!r} is too short to name an image", hint="give at least four letters")
    named = resolve(site or "local")
    removed = complete(visit_images(named, lambda image: image.digest.startswith(digests)))
    if not removed:
        raise UsageError(
            f"no image begins with {' or '.join(digests)}", hint="`steelyard image list` shows all"
        )
    return _show(removed, as_json=False)


def _show(images: Iterable[BroughtImage], as_json: bool) -> int:
    """A line each."""
    from steelyard.report.columns import align

    if as_json:
        print_json([_describe(one) for one in images])
        return 0
    rows = [
        (one.image.digest[:12], one.host, show(one.image.size, "B"), one.image.what, str(one.image.root))
        for one in images
    ]
    for line in align(rows, right=(2,)):
        echo(line)
    return 0


def _describe(one: BroughtImage) -> dict[str, Any]:
    facts = {"digest": one.image.digest, "host": one.host, "root": str(one.image.root)}
    return {**facts, **one.image.describe()}


def _ignore(_: str) -> None:
    """Who reads JSON is told of nothing else."""
