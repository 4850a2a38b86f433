"""`use: replay`: the storage calls of a trace, made again without the application."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator

from steelyard.plugin import (
    QUANTILES,
    Command,
    Duration,
    Mark,
    Metric,
    Output,
    Phase,
    Place,
    Reading,
    ReplayedTrace,
    ScratchOrAbsolute,
    Share,
    latency_metrics,
)
from steelyard.plugin.workload import Histogram, Workload, WorkloadOptions
from steelyard.workloads.kit.load.options import LOAD
from steelyard.workloads.replay.output import ReplaySummary, Transfers, read_summary

_AS_RECORDED, _ASAP = "as-recorded", "asap"
_KINDS = ("read", "write")
_SPEEDS = {_AS_RECORDED: 1.0, _ASAP: 0.0}


class ReplayOptions(WorkloadOptions):
    """What is replayed, how fast, and how often at once."""

    trace: str = Field(
        description="The trace: its id or `last`, as `steelyard trace list` shows it, the id of a run that "
        "recorded one, or the path of its folder, from the experiment's file."
    )
    under: str = Field("", description="Only the calls on files below this path, as they were recorded.")
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where the file system under test is: `scratch` (the run's own, on each host); an "
        "absolute path, in which the run makes and removes its own; or a service that is a file system.",
    )
    speed: str = Field(
        _AS_RECORDED,
        description="`as-recorded`; so many times as fast, such as `2x`; or `asap`, without pauses.",
    )
    loop: Literal["closed", "open"] = Field(
        "closed",
        description="`closed`: a call comes as long after the one before it as when it was recorded. `open`: "
        "it comes at the instant at which it came then, however long others take.",
    )
    streams: int = Field(
        1, ge=1, le=1000, description="How often it is replayed at once, each in a directory of its own."
    )
    stagger: Duration = Field(
        Duration(0.0), description="Each stream begins at a random instant up to so long after the start."
    )
    most_other_results: Share = Field(
        Share(0.01),
        description="From which share of calls with another result than in the trace on the trial is marked.",
    )

    @field_validator("speed", mode="after")
    @classmethod
    def _check_speed(cls, speed: str) -> str:
        try:
            sound = speed in _SPEEDS or (speed.endswith("x") and 0 < float(speed[:-1]) < 1e6)
        except ValueError:
            sound = False
        if not sound:
            raise ValueError(f"{speed!r} is neither as-recorded, nor asap, nor a factor such as 2x")
        return speed

    @property
    def factor(self) -> float:
        """How many times as fast; 0 without pauses."""
        return _SPEEDS[self.speed] if self.speed in _SPEEDS else float(self.speed[:-1])


class Replay(Workload[ReplayOptions]):
    """Replay a trace of storage calls, and say how faithful that was.

    **Measures** how long the calls of a trace take here: the whole (`duration`), latencies and throughput of
    reads and writes. Beside them stands how faithful the replay was: the distance of the distributions of
    latencies (`read_distance`, Kolmogorov and Smirnov, 0 to 1), what the times between calls were off
    (`interarrival_error`), calls with another result than in the trace, calls of two threads on a file that
    changed places, and what was left out.

    **Source**: the concurrent replay of a recorded database in XtreemOS D4.2.7, sections 2.14 and 4.9; what
    waits for what, from ROOT (Weiss et al., SOSP 2013) and hfplayer (Haghdoost et al., FAST 2017).

    **How to read it.** Files are made beforehand, with the sizes that they had. Calls of a thread keep their
    order, and what they could depend on in other threads comes before them. On the storage where it was
    recorded, `duration_ratio` is near 1, and the distances are near 0; on another, they tell how it differs.
    Caches are as they are after the files were made: `before_each: [drop_caches]` is before that.
    """

    Options = ReplayOptions
    needs = (LOAD,)
    covers = ("CLM2",)
    examples = (
        {"trace": "examples/traces/orders"},
        {"trace": "examples/traces/orders", "speed": "asap", "streams": 3, "stagger": "10ms"},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """The replay's own, and how faithful it was."""
        latencies = (
            metric for kind in _KINDS for metric in latency_metrics(f"{kind}_latency", f"time of one {kind}")
        )
        rates = (
            Metric(f"{kind}_throughput", "B/s", "higher", f"bytes of {kind}s in a second") for kind in _KINDS
        )
        distances = (
            _fidelity(f"{kind}_distance", f"how far latencies of {kind}s are from the trace's", "1")
            for kind in _KINDS
        )
        off = _fidelity("interarrival_error", "what times between calls were off, by those times", "1")
        return (
            Metric("duration", "s", "lower", "from the first call to the end of the last", over_copies="max"),
            _fidelity("duration_ratio", "duration by that of the trace", "1", "none"),
            *distances,
            _fidelity("other_results", "calls with another result than in the trace"),
            *rates,
            *latencies,
            *((off,) if self.options.factor else ()),
            _fidelity("order_violations", "calls of two threads on a file that changed places"),
            _fidelity("left_out", "calls of the trace that were not made"),
        )

    def trace(self) -> ReplayedTrace:
        """What the controller makes a plan of."""
        return ReplayedTrace(self.options.trace, self.options.under)

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """The files as they were, then the calls."""
        prepare = Phase("prepare", self._command(place, "prepare"), measured=False)
        return (prepare, Phase("run", self._command(place, "run")))

    def _command(self, place: Place, stage: str) -> Command:
        options = self.options
        job = {
            "stage": stage,
            "plan": str(place.plan or "PLAN"),
            "streams": options.streams,
            "speed": options.factor,
            "open": options.loop == "open",
            "stagger": float(options.stagger),
            "seed": place.seed,
        }
        return Command(LOAD.argv("replay", json.dumps(job)), cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """The summary. Raises ParseFailure."""
        summary = read_summary(output.stdout)
        values, histograms, short = _read_times(summary)
        values |= {name: value for name, value in summary.fidelity.items() if value is not None}
        return Reading(
            values,
            histograms,
            self._judge(summary),
            facts={**summary.facts, "loop": self.options.loop},
            short=short,
        )

    def _judge(self, summary: ReplaySummary) -> tuple[Mark, ...]:
        share, most = summary.fidelity["other_results"] or 0.0, float(self.options.most_other_results)
        if share <= most:
            return ()
        reason = f"{share:.1%} of the calls had another result than in the trace; at most {most:.1%} may"
        return (Mark("fallback", reason, "not faithful", share, "%"),)

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory


def _fidelity(name: str, about: str, unit: str = "%", better: Literal["lower", "none"] = "lower") -> Metric:
    return Metric(name, unit, better, about, over_copies="max")


def _read_times(
    summary: ReplaySummary,
) -> tuple[dict[str, float], dict[str, Mapping[float, int]], dict[str, int]]:
    values: dict[str, float] = {"duration": summary.seconds}
    histograms: dict[str, Mapping[float, int]] = {}
    short: dict[str, int] = {}
    for kind in _KINDS:
        transfers: Transfers = summary.transfers[kind]
        histograms[f"{kind}_latency"] = transfers.latency
        if not transfers.calls:
            short |= {f"{kind}_latency_{label}": 0 for label in QUANTILES}
            continue
        histogram = Histogram.of(transfers.latency)
        values |= {f"{kind}_latency_{label}": histogram.quantile(q) for label, q in QUANTILES.items()}
        values[f"{kind}_throughput"] = transfers.bytes / summary.seconds
    return values, histograms, short
