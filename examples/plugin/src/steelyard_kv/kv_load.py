"""`use: kv_load`"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import Field

from steelyard.plugin import (
    QUANTILES,
    Command,
    Metric,
    Output,
    ParseFailure,
    Place,
    Reading,
    Size,
    Tool,
    latency_metrics,
)
from steelyard.plugin.workload import Histogram, Workload, WorkloadOptions

PROGRAM = Path(__file__).parent / "programs" / "kv_load.py"


class KvLoadOptions(WorkloadOptions):
    """How much is asked."""

    requests: int = Field(
        1000, ge=100, le=10_000_000, description="Number of SET requests, each followed by a GET"
    )
    value_size: Size = Field(Size(100), ge=8, le=65536, description="Size of a value")


class KvLoad(Workload[KvLoadOptions]):
    """Throughput and latency of a key-value server under one client in a closed loop.

    Each SET is timed; its value is read back and compared. Add clients with `copies`. Source: this package.
    """

    Options = KvLoadOptions
    needs = (Tool("python3", apt="python3", dnf="python3"),)
    talks_to = frozenset({"kv_server"})
    examples = ({"requests": 500},)

    def metrics(self) -> tuple[Metric, ...]:
        """A rate, and a histogram with its quantiles."""
        rate = Metric("requests", "1/s", "higher", "requests a second, SET and GET")
        return (rate, *latency_metrics("latency", "time from a SET to its answer"))

    def command(self, place: Place) -> Command:
        """The client. There is no service yet while phases are only listed."""
        to = place.to
        words = [to.address, to.port] if to else ["HOST", "PORT"]
        words += [self.options.requests, int(self.options.value_size), place.seed]
        argv = ("python3", "-I", "-S", "-c", PROGRAM.read_text(), *map(str, words))
        return Command(argv, secrets={"KV_PASSWORD": to.password or ""} if to else {})

    def parse(self, phase: str, output: Output) -> Reading:
        """The client's line of JSON, or a ParseFailure: never a guess."""
        try:
            told = json.loads(output.stdout)
            latency = Histogram.of(told["latency"], divisor=1e9)
            rate = 2 * latency.count / told["seconds"]
            quantiles = {f"latency_{name}": latency.quantile(share) for name, share in QUANTILES.items()}
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise ParseFailure(f"no figures in what kv_load printed: {output.stdout[-80:]!r}") from error
        return Reading({"requests": rate, **quantiles}, {"latency": dict(latency.bins)})

    def closed_loop_advice(self) -> str:
        """It waits for each answer, so it sees little of an outage: the report warns of that."""
        return "judge an outage by `requests`"
