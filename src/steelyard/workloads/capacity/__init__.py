"""`use: capacity`: the space of a file system and steady requests to it, while servers come and go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from steelyard.plugin import (
    QUANTILES,
    Command,
    Duration,
    Frequency,
    Metric,
    Output,
    ParseFailure,
    Place,
    Reading,
    ScratchOrAbsolute,
    SeriesSample,
    Size,
    Tool,
    latency_metrics,
)
from steelyard.plugin.workload import Histogram, Workload, WorkloadOptions
from steelyard.workloads.kit.document import JsonNode, parse_document

_JOB = Path(__file__).with_name("job.py")
_TOOL = "the program of capacity"
_FILES = 16  # of each copy, used in turn


class CapacityOptions(WorkloadOptions):
    """How long, how often to look, and the load meanwhile."""

    directory: ScratchOrAbsolute = Field(
        "scratch", description="Where to work: scratch, an absolute path, or a service that is a file system."
    )
    duration: Duration = Field(Duration(30), description="How long to watch and to send requests.")
    every: Duration = Field(Duration(0.5), description="Time between two looks at the space.")
    rate: Frequency = Field(
        Frequency(20), description="Requests per second: one writes and syncs a file and reads another."
    )
    block: Size = Field(Size(65536), description="Bytes of a request, at most 64 MiB.")

    @model_validator(mode="after")
    def _check_amounts(self) -> Self:
        if not 1 <= self.duration <= 86_400:
            raise ValueError(f"duration: {self.duration} is not from 1 s to 1 day")
        if not 0.05 <= self.every <= self.duration / 2:
            raise ValueError(f"every: {self.every} is not from 50 ms to half of the duration")
        if not 0.1 <= self.rate <= 1000:
            raise ValueError(f"rate: {self.rate} is not from 0.1 to 1000 requests per second")
        if not 8 <= self.block <= 2**26:
            raise ValueError(f"block: {self.block} is not from 8 B to 64 MiB")
        return self


class Capacity(Workload[CapacityOptions]):
    """What clients see of a file system while servers join it, leave it or fail, under a steady load.

    **Measures** the space that the file system reports (`space_total`, `space_free` at the end, and
    `space_added` since the beginning; all of them over time), and what steady requests see: their rate, their
    response time from the moment they were due, the longest pause between two that succeed, failed requests,
    and reads that returned something else than was written. Each request writes and syncs one small file and
    reads another that was written before.

    **Source**: test unit "Storage Extension" of XtreemOS D4.2.7, 5.2.2, where the space is read before and
    after another server joins; the load and the time in between are ours.

    **How to read it.** With the event `grow`, `space_added` should be the space of the server that joined, as
    the report's chart over time shows it, and `longest_pause` should not differ from that of a trial without
    the event. With `kill`, `longest_pause` is what an application sees of the outage. Failed requests count
    and do not end the trial; a wrong read is lost data.
    """

    Options = CapacityOptions
    needs = (Tool("python3", apt="python3", dnf="python3"),)
    covers = ("XOS.73", "XOS.41")
    examples = ({"duration": "2s", "every": "200ms", "rate": "50/s", "block": "4KiB"},)

    def metrics(self) -> tuple[Metric, ...]:
        """Space, then what requests see."""
        return (
            Metric("space_total", "B", "none", "size of the file system at the end", over_copies="max"),
            Metric("space_free", "B", "none", "free space at the end", over_copies="max"),
            Metric("space_added", "B", "higher", "growth of the size since the beginning", over_copies="max"),
            Metric("request_rate", "1/s", "higher", "requests that succeeded, per second"),
            *latency_metrics("response", "time from when a request was due until it was done"),
            Metric("longest_pause", "s", "lower", "longest time without a success", over_copies="max"),
            Metric("failed_requests", "1", "lower", "requests that failed"),
            Metric("wrong_reads", "1", "lower", "reads that returned something else than was written"),
        )

    def command(self, place: Place) -> Command:
        """The job goes to the interpreter as text, so that a remote host needs nothing but Python."""
        options = self.options
        asked = {
            "duration": float(options.duration),
            "every": float(options.every),
            "rate": float(options.rate),
            "block": int(options.block),
            "files": _FILES,
        }
        return Command(("python3", "-", json.dumps(asked)), cwd=place.scratch, stdin=_JOB.read_text())

    def parse(self, phase: str, output: Output) -> Reading:
        """The looks and the summary. Raises ParseFailure, also when the space could never be read."""
        *looks, summary = _parse_lines(output.stdout)
        spaces = [look for look in looks if "total" in dict(look.items())]
        if not spaces:
            raise ParseFailure(f"{_TOOL} never read the space of the file system")
        first, last = spaces[0].child("total").number(), spaces[-1].child("total").number()
        histogram = _read_responses(summary)
        requests, seconds = summary.child("requests").count(), summary.child("seconds").number()
        if histogram.count != requests or not seconds:
            raise ParseFailure(
                f"{_TOOL} counted {requests} requests in {seconds} s, but timed {histogram.count}"
            )
        errors = {name: node.count() for name, node in summary.child("errors").items()}
        values = {
            "space_total": last,
            "space_free": spaces[-1].child("free").number(),
            "space_added": last - first,
            "request_rate": requests / seconds,
            "longest_pause": summary.child("pause").number(),
            "failed_requests": float(sum(errors.values())),
            "wrong_reads": float(summary.child("wrong").count()),
        }
        if requests:
            values |= {f"response_{name}": histogram.quantile(share) for name, share in QUANTILES.items()}
        facts = {"errors": errors, "hung": summary.child("hung").value is True}
        return Reading(values, {"response": dict(histogram.bins)}, facts=facts)

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """Space and rate at each look."""
        return tuple(_sample(look) for look in _parse_lines(output.stdout)[:-1])

    def feed(self, phase: str, stream: str, line: str) -> Mapping[str, float]:
        """Space and rate of a look; the last line, which sums up, is none."""
        if stream != "stdout":
            return {}
        look = parse_document(line, _TOOL)
        return _sample(look).values if "at" in dict(look.items()) else {}

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def disk(self) -> int:
        """The files, which are used in turn."""
        return _FILES * int(self.options.block)

    def seconds(self) -> float | None:
        """As long as was asked."""
        return float(self.options.duration)


def _parse_lines(text: str) -> list[JsonNode]:
    lines = [parse_document(line, _TOOL) for line in text.splitlines()]
    if len(lines) < 2:
        raise ParseFailure(f"{_TOOL} printed {len(lines)} lines; its output is cut off")
    return lines


def _read_responses(summary: JsonNode) -> Histogram:
    counts = {text: node.count() for text, node in summary.child("responses").items()}
    try:
        histogram = Histogram.of(counts)
    except ValueError as error:
        raise ParseFailure(f"{_TOOL} printed response times that are none: {error}") from error
    if histogram.bins and histogram.bins[0][0] < 0:
        raise ParseFailure(f"{_TOOL} printed a response time of {histogram.bins[0][0]} s")
    return histogram


def _sample(look: JsonNode) -> SeriesSample:
    length = look.child("length").number()
    space = {name: node for name, node in look.items() if name in ("total", "free")}
    values = {f"space_{name}": node.number() for name, node in space.items()}
    if length:
        values["request_rate"] = look.child("requests").count() / length
    return SeriesSample(look.child("at").number(), length, values)
