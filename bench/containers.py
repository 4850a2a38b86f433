"""What our way into a container adds to the container's own start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.process import NotMeasured, in_turns, run
from bench.row import Row
from bench.setting import Setting
from steelyard.model.command import Command
from steelyard.model.environment import Inside
from steelyard.spec.conditions import environment_class
from steelyard.testing.contract.environments import make_image
from steelyard.tools.find import find_missing

STARTS = 5  # a turn: one alone takes a few milliseconds
MOST = {"bubblewrap": 1.5, "podman": 1.2}  # as many times as it takes without us


def rows(setting: Setting) -> Iterator[Row]:
    """Seconds that a program takes which does nothing, in a container, our way and the shortest way."""
    image = make_image(setting.fresh("image") / "root")
    for name, most in MOST.items():
        environment = environment_class(name)(name)
        if find_missing(environment.needs):
            raise NotMeasured(f"{name} is not installed")
        place = str(setting.fresh("scratch"))
        ours = environment.enter(Command(("true",)), Inside(str(image), (place,), place)).argv
        bare = _list_bare(name, image, place)
        took = in_turns(
            setting.turns,
            {"ours": partial(_time, ours), "bare": partial(_time, bare)},
        )
        what = f"true in {name}, with a scratch directory in it"
        yield Row("containers", what, "s", took["ours"], f"{name} itself", took["bare"], most=most)


def _list_bare(name: str, image: Path, place: str) -> Sequence[str]:
    """As a user would type it, who has made the mount points in the image."""
    if name == "bubblewrap":
        Path(f"{image}{place}").mkdir(parents=True)
        (image / "sys/devices").mkdir()
        system = ("--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys/devices", "/sys/devices")
        binds = ("--ro-bind", str(image), "/", *system, "--tmpfs", "/tmp", "--bind", place, place)
        spaces = ("--unshare-all", "--share-net", "--die-with-parent", "--chdir", place)
        return ("bwrap", *binds, *spaces, "true")
    # No limit above that of this machine, or podman may not start at all (docs/decisions/0102).
    limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
    words = ("podman", "run", "--rm", "--network=host", *limits, "--volume", f"{place}:/mnt")
    return (*words, "--rootfs", f"{image}:O", "true")


def _time(words: Sequence[str]) -> float:
    env = {**os.environ, "STEELYARD_TOKEN": ""}
    return sum(run(words, env=env).seconds for _ in range(STARTS)) / STARTS
