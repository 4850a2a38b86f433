"""How requests are sent: options of every workload that the load driver carries out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from steelyard.model.command import Place
from steelyard.model.tool import Tool
from steelyard.units import Duration, Frequency
from steelyard.workloads.base import WorkloadOptions

LOAD = Tool("steelyard-load", bundled=str(Path(__file__).parents[1] / "bin"))


class LoadOptions(WorkloadOptions):
    """How many at once, how fast, how long. `rate` and `operations` are of all copies together."""

    connections: int = Field(
        8, ge=1, le=10_000, description="Connections of each copy; each carries one request at a time."
    )
    rate: Frequency | None = Field(
        None,
        description="Requests per second that are due, whether or not earlier ones were answered (open loop; "
        "`500/s` or 500). Default: each connection sends its next request after the answer (closed loop).",
    )
    arrivals: Literal["constant", "poisson"] = Field(
        "constant",
        description="With `rate`: equal gaps between requests, or random ones as from independent users.",
    )
    duration: Duration | None = Field(None, description="How long to run, instead of `operations`.")
    operations: int | None = Field(
        None, ge=1, le=2**53, description="Number of requests to send, instead of `duration`."
    )
    omit: Duration = Field(Duration(0), description="Exclude the first seconds of the run.")
    interval: Duration = Field(
        Duration(1), description="Interval of the time series; it divides `duration` and `omit`."
    )
    timeout: Duration = Field(Duration(30), description="Time limit after which a request counts as failed.")

    @model_validator(mode="after")
    def _check_pace(self) -> Self:
        if (self.operations is None) == (self.duration is None):
            raise ValueError("give either duration or operations")
        if self.duration is not None and self.omit >= self.duration:
            raise ValueError(f"omit: {self.omit} leaves nothing of the duration {self.duration}")
        if self.arrivals == "poisson" and self.rate is None:
            raise ValueError("arrivals: poisson needs a rate")
        if self.rate is not None and not 0 < self.rate <= 10**7:
            raise ValueError("rate: give a rate above 0 and at most 10000000/s")
        return self._check_times()

    def _check_times(self) -> Self:
        if not 0.1 <= self.interval <= 3600 or not 0.1 <= self.timeout <= 86400:
            raise ValueError("interval is 0.1 s to 1 h, timeout 0.1 s to 1 d")
        for name, value in (("duration", self.duration or 0.0), ("omit", self.omit)):
            if abs(value / self.interval - round(value / self.interval)) > 1e-6:
                raise ValueError(f"{name}: {value} is not a multiple of the interval {self.interval}")
        return self

    def pace(self, place: Place) -> dict[str, Any]:
        """What one of several copies is told."""
        whole, copy, copies = self.operations, place.copy, place.copies
        return {
            "connections": self.connections,
            "rate": self.rate / copies if self.rate else None,
            "arrivals": self.arrivals,
            "seconds": self.duration,
            "operations": None if whole is None else whole * (copy + 1) // copies - whole * copy // copies,
            "interval": self.interval,
            "timeout": self.timeout,
            "seed": place.seed,
        }
