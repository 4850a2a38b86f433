"""From options to an fio command line; which fio; where its result goes.

A job goes to fio as arguments, not as a job file: the plan then shows the whole truth on one line, and no
value can be taken for another section or an environment variable.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.model.command import Command, Place
from steelyard.model.tool import Tool
from steelyard.workloads.kit.fio.check import Scalar, format_value

FIO = Tool("fio", apt="fio", dnf="fio", at_least="3.14")

Settings = Mapping[str, Scalar]


def result_file(phase: str) -> str:
    """The name under `Place.raw` of what fio reports of a phase."""
    return f"fio-{phase}.json"


def fio_command(place: Place, phase: str, shared: Settings, jobs: Mapping[str, Settings]) -> Command:
    """The command that runs `jobs` (name to options) with `shared` options in the copy's scratch directory.

    fio's own random numbers come from the trial's seed, of which it takes 32 bits.
    """
    directory = str(place.scratch).replace(":", r"\:")  # fio parts several directories by colons
    argv = [
        "fio",
        "--output-format=json+",
        f"--output={place.raw / result_file(phase)}",
        "--eta=never",
        f"--directory={directory}",
        f"--randseed={place.seed % 2**32}",
        *format_arguments(shared),
    ]
    for name, options in jobs.items():
        argv += [f"--name={name}", *format_arguments(options)]
    return Command(tuple(argv), cwd=place.scratch)


def format_arguments(options: Settings) -> list[str]:
    """`{"bs": "4k", "direct": True}` as `--bs=4k --direct=1`."""
    return [f"--{key}={format_value(value)}" for key, value in options.items()]
