"""Make the images that a file describes on the hosts of a run, before anything is measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from steelyard.controller.context import RunContext
from steelyard.controller.scratch import Scratches
from steelyard.hosts.base import Host
from steelyard.hosts.images import MadeImage, make_image, read_image
from steelyard.model.keys.image import ImageRecipe


async def bring_images(
    context: RunContext, hosts: Sequence[Host], scratches: Scratches, recipes: Mapping[str, ImageRecipe]
) -> None:
    """Make what is not there yet, one host of each machine beside the other. Raises HostError."""
    machines = {host.machine: host for host in reversed(hosts)}
    for name, recipe in recipes.items():
        made = await asyncio.gather(
            *(_bring(context, host, scratches, name, recipe) for host in machines.values())
        )
        digests = {one.sha256 for one in made}
        if len(digests) > 1:
            context.warn(
                f"image {name} is not the same on all hosts, as it was made on different days;"
                " `mirror` with the archive of a day makes it so"
            )


async def _bring(
    context: RunContext, host: Host, scratches: Scratches, name: str, recipe: ImageRecipe
) -> MadeImage:
    began, image = time.monotonic(), await read_image(host, recipe)
    was_there = image is not None
    if image is None:
        context.observer.on_wait(f"{host.name}: making image {name} of {recipe.suite}, for about a minute")
        logs = context.folder.path / "images"
        image = await make_image(host, recipe, scratches.get_scratch(host).base, logs)
    seconds = round(time.monotonic() - began, 3)
    context.note(
        "image-ready", image=name, host=host.name, cached=was_there, seconds=seconds, **image.describe()
    )
    return image
