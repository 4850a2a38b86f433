"""What can be measured, and what was: metrics, readings of them, marks on a trial."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Unit = str
"""`s`, `B`, `B/s`, `1/s`, `%` or `1`, which are printed scaled; or another word, printed as it is."""
Better = Literal["higher", "lower", "none"]
Kind = Literal["scalar", "histogram"]
OverCopies = Literal["sum", "median", "mean", "min", "max"]
OverRepetitions = Literal["median", "mean", "min", "max"]

_DETAIL = re.compile(r"\s*[\d(:].*", re.DOTALL)
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured figure.

    Values are in base units whatever the tool prints: seconds, bytes, bytes per second, 1/s; `%` is a
    ratio (0.05) that is shown as 5 %. `over_copies` says how simultaneous copies become one value. A scalar
    that is a quantile of a histogram names both, so that copies merge their histograms first and never
    average percentiles. A `secondary` one says what another of the workload's says better, as a latency from
    when a request was sent where it had been due earlier: it leads no table and no comparison. One that the
    experiment computes of others has a `formula`.
    """

    name: str
    unit: Unit
    better: Better
    about: str = ""
    kind: Kind = "scalar"
    over_copies: OverCopies = "sum"
    over_repetitions: OverRepetitions = "median"
    histogram: str | None = None
    quantile: float | None = None
    secondary: bool = False
    formula: str = ""

    @property
    def is_rate(self) -> bool:
        """Whether it is something a second, whatever the word for it."""
        return self.unit.endswith("/s")

    @property
    def samples(self) -> int:
        """Observations from which on it is a figure: a quantile q needs 1 / (1 - q), as 100 for p99."""
        if self.quantile is None or self.quantile >= 1:
            return 1
        return math.ceil(1 / (1 - self.quantile) - 1e-9)


def latency_metrics(name: str, about: str, *, secondary: bool = False) -> tuple[Metric, ...]:
    """A latency histogram `name` and its usual quantiles `name_p50` … `name_p999`."""
    whole = Metric(name, "s", "lower", about, kind="histogram", secondary=secondary)
    parts = (
        Metric(
            f"{name}_{label}",
            "s",
            "lower",
            f"{about}: {quantile * 100:g} % took at most this long",
            over_copies="max",
            histogram=name,
            quantile=quantile,
            secondary=secondary,
        )
        for label, quantile in QUANTILES.items()
    )
    return (whole, *parts)


def launch_metrics(service: str) -> tuple[Metric, ...]:
    """What a service that is deployed for every trial tells of that, by its name in the experiment."""
    return (
        Metric(f"{service}_launch_time", "s", "lower", "time from an empty host until the service is ready"),
        Metric(
            f"{service}_configure_time",
            "s",
            "lower",
            "part of that time: ports, files and settings, before the service starts",
        ),
    )


@dataclass(frozen=True, slots=True)
class Mark:
    """Why a trial must not be pooled with the others.

    `fallback`: the tool did something else than was asked (buffered instead of direct, lower depth).
    `disturbed`: something beside the workload had a say (foreign CPU load, steal, throttling, swapping).
    `incomplete`: an event of the timeline did not happen, or was not complete when its phase ended; the phase
    left processes behind; or some copies lack what a figure of all of them is made of.

    `cause` says in a word or two what it was, `amount` how much of it, in `unit`; both may be left out. What
    is `counted` is told and pooled all the same, as somebody asks for it.
    """

    kind: Literal["fallback", "disturbed", "incomplete"]
    reason: str
    cause: str = ""
    amount: float | None = None
    unit: str = ""
    counted: bool = False

    @property
    def gist(self) -> str:
        """The cause; in a record that has none, the reason up to its first figure."""
        return self.cause or _DETAIL.sub("", self.reason) or self.reason

    def record(self) -> dict[str, Any]:
        """For the journal."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None, False)}


@dataclass(frozen=True, slots=True)
class SeriesSample:
    """An interval of a copy's time series: its end (seconds since 1970), its length (s), values by metric."""

    at: float
    length: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a workload's output says.

    `values`: metric name to value in the metric's unit. `histograms`: metric name to bins, where a bin is
    its representative value in the metric's unit and its count; an empty one says that nothing was there to
    count. `facts`: what the tool said it really did (engine, achieved depth, version), kept in the record as
    they are. `short`: quantiles that rest on too few observations, with how many; they are no values.
    `bounds`: metrics whose value says "at most so much".
    `series`: how metrics went over time, on the host's clock, as `Workload.series` tells.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Mapping[float, int]] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    short: Mapping[str, int] = field(default_factory=dict)
    bounds: frozenset[str] = frozenset()
    series: Sequence[SeriesSample] = ()
