"""`use: boot`: how long it takes until a program runs, and until it answers."""

from __future__ import annotations

import re

from pydantic import Field

from steelyard.plugin import Command, Metric, Output, ParseFailure, Place, Reading
from steelyard.plugin.workload import Workload, WorkloadOptions

# One program for the clock, and nothing before it, so that its own start is all that is counted too much.
_SCRIPT = 'date +%s.%N; "$@" >&2 || exit; date +%s.%N'
_STAMPS = re.compile(r"(\d{1,12}\.\d{9})\n(\d{1,12}\.\d{9})\n")


class BootOptions(WorkloadOptions):
    """What is to answer."""

    program: tuple[str, ...] = Field(
        ("true",),
        min_length=1,
        description="The program with its arguments whose end is the answer, for example [redis-cli, ping].",
    )


class Boot(Workload[BootOptions]):
    """The time from a start until a program runs, and until it has answered: boot time.

    **Measures** `spawn`, from the start on the host until the first process runs inside of what `wrap` puts
    around it, and `prompt`, from the start until `program` has ended inside.

    **Source**: MIKELANGELO D6.3 (2016), figure 16, which shows `build`, `spawn` and `prompt` of guests on
    OpenStack; there, spawn ends when the cloud calls the guest running. What it took to make an image that
    the file describes (build), and its size, are told by the report, below Environment.

    **How to read it.** Make `wrap`'s `in` a level and compare with `host`, where both are the start of a
    shell and of `date`, about 2 ms. A file with `drop_caches` in `before_each` shows cold images. A container
    shares its host's clock; a guest's clock is set when it boots, so that its figures are off by as much.
    """

    Options = BootOptions
    examples = ({}, {"program": ["sleep", "0.01"]})
    words = frozenset({"program"})

    def metrics(self) -> tuple[Metric, ...]:
        """Both from the start on."""
        return (
            Metric("spawn", "s", "lower", "until the first process runs", over_copies="max"),
            Metric("prompt", "s", "lower", "until the program has answered", over_copies="max"),
        )

    def command(self, place: Place) -> Command:
        """A shell that tells the time, runs the program, and tells the time."""
        return Command(("sh", "-c", _SCRIPT, "sh", *self.options.program))

    def parse(self, phase: str, output: Output) -> Reading:
        """Both stamps, less that of the start. Raises ParseFailure."""
        stamps = _STAMPS.fullmatch(output.stdout)
        if not stamps:
            raise ParseFailure(
                f"`date +%s.%N` does not tell nanoseconds there: {output.stdout[:60]!r}; "
                "the image needs that of coreutils"
            )
        spawn, prompt = (float(stamp) - output.exit.started for stamp in stamps.groups())
        if not 0 < spawn < prompt <= output.exit.wall + 1:
            raise ParseFailure(
                f"the clock inside is not that of the host: the program began {spawn:.3f} s after its start"
            )
        return Reading({"spawn": spawn, "prompt": prompt})
