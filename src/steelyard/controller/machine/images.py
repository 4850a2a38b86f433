"""Bring the images that a file describes to hosts: for a run, before anything is measured, or beforehand."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from steelyard.controller.context import RunContext
from steelyard.controller.placement import group_by_machine
from steelyard.errors import HostError, UsageError
from steelyard.hosts.base import Host
from steelyard.hosts.images.archives import write_root
from steelyard.hosts.images.making import MadeImage, list_images, make_image, read_image, remove_image
from steelyard.hosts.token import Token
from steelyard.model.keys.image import ImageRecipe
from steelyard.spec.sites import NamedSite

Say = Callable[[str], None]


class BroughtImage(NamedTuple):
    """An image on a host; whether it was there before, and how many seconds it took to make it."""

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
    async with _lease_hosts(named) as (hosts, place):
        brought = [
            await _bring_to_all(hosts, name, recipe, folder, place, say) for name, recipe in recipes.items()
        ]
    return [one for everywhere in brought for one in everywhere]


async def visit_images(
    named: NamedSite, removing: Callable[[MadeImage], bool] | None = None
) -> list[BroughtImage]:
    """The images on the hosts of a site; those of `removing` are gone then. Raises SteelyardError."""
    visited = []
    async with _lease_hosts(named) as (hosts, _):
        for host in _choose_hosts(hosts):
            for image in await list_images(host):
                if removing is None or removing(image):
                    visited.append(BroughtImage(host.name, image, True, 0.0))
                    await remove_image(host, image) if removing else None
    return visited


@asynccontextmanager
async def _lease_hosts(named: NamedSite) -> AsyncIterator[tuple[Sequence[Host], Path]]:
    """The hosts of a site that are there without a run, and a directory for what is said there."""
    if named.site.install_policy == "never":
        hint = "use `--site local` on a machine that shares their home directory"
        raise UsageError(f"the hosts of site {named.name} exist only during a run", hint=hint)
    with tempfile.TemporaryDirectory(prefix="steelyard-image-") as folder:
        place = Path(folder)
        async with named.site.lease(Token.of("image"), place / "log", None) as hosts:
            yield hosts, place


def _choose_hosts(hosts: Sequence[Host]) -> list[Host]:
    """The first host of each machine, whose cache the others share."""
    return [alike[0] for alike in group_by_machine(hosts).values()]


async def _bring_to_all(
    hosts: Sequence[Host], name: str, recipe: ImageRecipe, folder: Path | None, logs: Path, say: Say
) -> list[BroughtImage]:
    """Paths of archives begin in `folder`. One is unpacked only where some host lacks the image."""
    source = (folder or Path()) / recipe.archive if recipe.archive else None
    if source:
        recipe.learn_content(await asyncio.to_thread(_hash_file, source))
    chosen = _choose_hosts(hosts)
    there = await asyncio.gather(*(read_image(host, recipe) for host in chosen))
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        root = Path(file.name) if source and None in there else None
        if source and root:
            await asyncio.to_thread(write_root, source, file.file)
            file.flush()
        works = (
            _bring(host, name, image, recipe, root, logs, say)
            for host, image in zip(chosen, there, strict=True)
        )
        return await asyncio.gather(*works)


def _hash_file(path: Path) -> str:
    try:
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise HostError(f"image {path} cannot be read: {error.strerror}") from error


async def _bring(
    host: Host,
    name: str,
    image: MadeImage | None,
    recipe: ImageRecipe,
    archive: Path | None,
    logs: Path,
    say: Say,
) -> BroughtImage:
    if image is not None:
        return BroughtImage(host.name, image, True, 0.0)
    began = time.monotonic()
    say(f"{host.name}: making image {name} of {recipe.describe()}")
    try:
        image = await make_image(host, recipe, logs, archive)
    except HostError as error:
        raise HostError(f"image {name}: {error.message}", hint=error.hint) from error
    return BroughtImage(host.name, image, False, round(time.monotonic() - began, 3))
