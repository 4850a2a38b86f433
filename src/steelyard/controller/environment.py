"""Gather what is known of a host through its collectors, and what to think of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.collectors.environment import Environment, commands, file_system_under, variables
from steelyard.controller.advice import advice
from steelyard.model.tool import Tool
from steelyard.remote.base import Host


async def gather(
    host: Host, needs: Iterable[Tool], scratch: PurePosixPath, origin: Path | None
) -> dict[str, Any]:
    """The environment of a host as one document.

    `scratch` is where test data go, `origin` the experiment's folder, whose git commit is noted. Values of
    environment variables are never read, only whether some that change results are set.
    """
    raw = await host.read(Environment.files)
    for name, argv in commands(needs, str(origin) if origin else None).items():
        said = await host.capture(argv)
        if said is not None:
            raw[name] = said
    found = dict(Environment().parse(raw))
    real = PurePosixPath(os.path.realpath(scratch))
    system = file_system_under(real, raw.get("/proc/self/mountinfo", ""))
    free = await host.free_space(scratch)
    notes = advice(found, system, free=free)
    return {
        **found,
        "host": host.name,
        "variables_set": variables(os.environ),
        "scratch": {"free": free, **(dataclasses.asdict(system) if system else {})},
        "advice": [dataclasses.asdict(note) for note in notes],
    }
