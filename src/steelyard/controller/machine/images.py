"""Bring the images that a file describes to hosts: for a run, before anything is measured, or beforehand."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from steelyard.controller.context import RunContext
from steelyard.errors import HostError, UsageError
from steelyard.hosts.base import Host
from steelyard.hosts.images.archives import write_root
from steelyard.hosts.images.making import MadeImage, list_images, make_image, read_image, remove_image
from steelyard.hosts.token import Token
from steelyard.model.keys.image import ImageRecipe
from steelyard.spec.sites import NamedSite

Say = Callable[[str], None]


class BroughtImage(NamedTuple):
    """An image on a host; whether it was there before, and how many seconds it took to be sure of it."""

    host: str
    image: MadeImage
    was_there: bool
    seconds: float


async def bring_images(
    context: RunContext, hosts: Sequence[Host], recipes: Mapping[str, ImageRecipe]
) -> None:
    """Make what is not there yet, one host of each machine beside the other. Raises HostError."""
    for name, recipe in recipes.items():
        logs = context.folder.path / "images"
        everywhere = await _bring_to_all(
            hosts, name, recipe, context.experiment.folder, logs, context.observer.on_wait
        )
        for one in everywhere:
            context.note(
                "image-ready",
                image=name,
                host=one.host,
                cached=one.was_there,
                seconds=one.seconds,
                **one.image.describe(),
            )
        if len({one.image.sha256 for one in everywhere}) > 1:
            context.warn(
                f"image {name} is not the same on all hosts, as it was made on different days;"
                " `mirror` with the archive of a day makes it so"
            )


async def push_images(
    named: NamedSite, recipes: Mapping[str, ImageRecipe], folder: Path | None, say: Say
) -> list[BroughtImage]:
    """Make images on the hosts of a site, so that no run waits for them. Raises SteelyardError."""
    with tempfile.TemporaryDirectory(prefix="steelyard-image-") as place:
        async with _require_lasting(named).site.lease(Token.of("image"), Path(place) / "log", None) as hosts:
            brought = [
                await _bring_to_all(hosts, name, recipe, folder, Path(place), say)
                for name, recipe in recipes.items()
            ]
    return [one for everywhere in brought for one in everywhere]


async def visit_images(
    named: NamedSite, removing: Callable[[MadeImage], bool] | None = None
) -> list[BroughtImage]:
    """The images on the hosts of a site; those of `removing` are gone then. Raises SteelyardError."""
    visited = []
    with tempfile.TemporaryDirectory(prefix="steelyard-image-") as place:
        async with _require_lasting(named).site.lease(Token.of("image"), Path(place) / "log", None) as hosts:
            for host in _choose_hosts(hosts):
                for image in await list_images(host):
                    if removing is None or removing(image):
                        visited.append(BroughtImage(host.name, image, True, 0.0))
                        await remove_image(host, image) if removing else None
    return visited


def _require_lasting(named: NamedSite) -> NamedSite:
    if named.site.install_policy == "never":
        hint = "use `--site local` on a machine that shares their home directory"
        raise UsageError(f"the hosts of site {named.name} exist only during a run", hint=hint)
    return named


def _choose_hosts(hosts: Sequence[Host]) -> list[Host]:
    """The first host of each machine, whose cache the others share."""
    return list({host.machine: host for host in reversed(hosts)}.values())[::-1]


async def _bring_to_all(
    hosts: Sequence[Host], name: str, recipe: ImageRecipe, folder: Path | None, logs: Path, say: Say
) -> list[BroughtImage]:
    """Paths of archives begin in `folder`."""
    with _open_archive(recipe, folder) as archive:
        works = (_bring(host, name, recipe, archive, logs, say) for host in _choose_hosts(hosts))
        return await asyncio.gather(*works)


@contextmanager
def _open_archive(recipe: ImageRecipe, folder: Path | None) -> Iterator[Path | None]:
    """The files of an image that is an archive, in one, which is gone afterwards; else None."""
    if recipe.archive is None:
        yield None
        return
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        write_root((folder or Path()) / recipe.archive, file.file)
        file.flush()
        root = Path(file.name)
        with root.open("rb") as content:
            recipe.learn_content(hashlib.file_digest(content, "sha256").hexdigest())
        yield root


async def _bring(
    host: Host, name: str, recipe: ImageRecipe, archive: Path | None, logs: Path, say: Say
) -> BroughtImage:
    began, image = time.monotonic(), await read_image(host, recipe)
    was_there = image is not None
    if image is None:
        say(f"{host.name}: making image {name} of {recipe.describe()}")
        try:
            image = await make_image(host, recipe, logs, archive)
        except HostError as error:
            raise HostError(f"image {name}: {error.message}", hint=error.hint) from error
    return BroughtImage(host.name, image, was_there, round(time.monotonic() - began, 3))
