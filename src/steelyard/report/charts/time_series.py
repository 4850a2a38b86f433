"""How a trial's own metrics went over time: rates in one panel, latencies in another, events as bands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.analysis.over_time.event_log import LoggedEvent, TimeOrigin
from steelyard.analysis.over_time.telemetry import HostSamples
from steelyard.analysis.over_time.time_series import TrialSeries, group_by_unit
from steelyard.model.metric import Metric
from steelyard.report.charts.base import Chart
from steelyard.report.charts.hosts import Panel, host_panel

MOST_LINES = 6
_TAILS = ("_p95", "_p99")
_TITLES = {"1/s": "Rate", "s": "Latency", "B/s": "Throughput", "1": "Counts"}


def draw_series(
    number: int,
    found: TrialSeries,
    metrics: dict[str, Metric],
    events: Sequence[LoggedEvent],
    zero: TimeOrigin | None,
    lead: str = "",
) -> Iterator[Chart]:
    """A chart for each unit that the series have, `lead` first; `number` tells the shown trials apart.

    Seconds count from `zero`, by default from the beginning of the series.
    """
    zero = zero or TimeOrigin(found.began, 0.0)
    seconds = [found.began + moment - zero.wall for moment in found.seconds]
    by_unit = sorted(group_by_unit(metrics, list(found.columns)).items(), key=lambda pair: pair[0] != lead)
    for position, (unit, names) in enumerate(by_unit):
        lines = {name: name for name in _select_lines(names, metrics)}
        panel = Panel(f"over{position}x", _TITLES.get(unit, unit), unit, lines)
        samples = HostSamples("", seconds, found.columns, zero.mono, zero.wall)
        if chart := host_panel(number, samples, panel, events):
            yield chart


def _select_lines(names: Sequence[str], metrics: dict[str, Metric]) -> list[str]:
    """Of many lines those of the high percentiles, which tell what users felt; the secondary ones last."""
    tails = [name for name in names if name.endswith(_TAILS)]
    return sorted(tails or names, key=lambda name: metrics[name].secondary)[:MOST_LINES]
