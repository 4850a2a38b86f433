"""All charts of a run, by key, and what a reader may choose among them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from steelyard.analysis.findings import Findings
from steelyard.analysis.latency import PercentilePoint, merge_histograms, percentile_curve
from steelyard.analysis.over_time.collected import load_collected
from steelyard.analysis.over_time.event_log import LoggedEvent, TimeOrigin, list_events
from steelyard.analysis.over_time.telemetry import load_samples, select_trials
from steelyard.analysis.over_time.time_series import load_series
from steelyard.analysis.summary import RunSummary
from steelyard.errors import StoreError
from steelyard.report.charts.against import draw_against
from steelyard.report.charts.base import Chart
from steelyard.report.charts.collected import draw_collected
from steelyard.report.charts.distribution import distribution
from steelyard.report.charts.hosts import COLUMNS, PANELS, host_panel
from steelyard.report.charts.percentiles import percentiles
from steelyard.report.charts.time_series import draw_series
from steelyard.store.reader import RunRecord, TrialRecord

Events = Mapping[int, Sequence[LoggedEvent]]
MOST_ROWS = 20_000
MOST_CELLS = 300
MOST_CURVES = 100
MOST_TRIALS = 12


class Choice(NamedTuple):
    """What a reader may choose: `value` stands in the keys of charts, `label` is for people."""

    value: str
    label: str


class Gallery(NamedTuple):
    """Charts by key, such as `distribution/0`, `against/0/1`, `derived/0`, `percentiles/0`, `cpu/3`.

    The numbers are positions in `choices` of `metric`, `parameter`, `latency` and `trial`; that of `derived`
    is the position among what was derived. `notes` say what was left out, so that a large run stays a small
    file. `headline` is the kind of chart that answers the run's question, such as `against`, or nothing. So
    many metrics, the first ones, are `leading`.
    """

    charts: Mapping[str, Chart]
    choices: Mapping[str, list[Choice]]
    notes: list[str]
    headline: str = ""
    leading: int = 0

    @property
    def headline_key(self) -> str:
        """The key of the chart of that kind that is drawn first."""
        return next((key for key in self.charts if f"{key}/".startswith(f"{self.headline}/")), "")

    @property
    def unprinted_metrics(self) -> list[str]:
        """The metrics whose charts are only where a reader can choose among them."""
        return [choice.label for choice in self.choices["metric"][self.leading :]]

    @property
    def has_cell_choice(self) -> bool:
        """Whether there are so many cells that their percentiles show one at a time."""
        return any(
            key.startswith("percentiles/") and "params" in chart.wide for key, chart in self.charts.items()
        )


def draw_gallery(findings: Findings) -> Gallery:
    """Make all charts; at most so much of each that the report stays under 5 MB."""
    record, summary = findings.record, findings.shown
    varying = summary.varying_axes
    shown, notes = _limit_metrics(summary)
    few = dataclasses.replace(summary, cells=summary.cells[:MOST_CELLS])
    if len(few.cells) < len(summary.cells):
        notes.append(f"The distributions show the first {MOST_CELLS} of {len(summary.cells)} cells.")
    charts: dict[str, Chart | None] = {}
    for number, metric in enumerate(summary.metrics[:shown]):
        charts[f"distribution/{number}"] = distribution(few, metric)
        for position in range(len(varying)):
            charts[f"against/{number}/{position}"] = draw_against(summary, metric, varying, position)
    if results := findings.derived.results:
        from steelyard.report.charts.derived import derived_chart  # loads numpy, which few reports need

        charts |= {
            f"derived/{number}": derived_chart(number, result) for number, result in enumerate(results)
        }
    latencies, damaged = _latency_charts(record, few)
    typical, events = select_trials(summary, most=MOST_TRIALS), list_events(record)
    zeros = {number: TimeOrigin.of(happened) for number, happened in events.items()}
    hosts, trials, unread = _host_charts(record, typical, events, zeros)
    collected, looked_at, unreadable = _collected_charts(record, typical, events, zeros)
    lead = next((metric.unit for metric in summary.primary), "")
    series, timed = _series_charts(record, typical, events, zeros, lead)
    choices = {
        "metric": [Choice(str(n), metric.name) for n, metric in enumerate(summary.metrics[:shown])],
        "parameter": [Choice(str(n), axis.name) for n, axis in enumerate(varying)],
        "latency": [Choice(str(n), name) for n, name in enumerate(latencies)],
        "cell": [Choice(cell.cell.key, cell.cell.key) for cell in few.cells[:MOST_CURVES]],
        "trial": trials,
        "collected": looked_at,
        "series": timed,
    }
    curves = {f"percentiles/{n}": chart for n, chart in enumerate(latencies.values())}
    drawn = {key: chart for key, chart in charts.items() if chart} | curves | hosts | collected | series
    answers = {
        "derived/0": bool(record.design.get("find")),
        "over0": any(events.get(trial.number) for trial in typical),
        "against": True,
        "distribution": True,
    }
    headline = next(
        (kind for kind, fits in answers.items() if fits and kind in {*drawn, *chart_kinds(drawn)}), ""
    )
    return Gallery(drawn, choices, [*notes, *damaged, *unread, *unreadable], headline, len(summary.leading))


def _limit_metrics(summary: RunSummary) -> tuple[int, list[str]]:
    """How many metrics have charts: the most important ones, at least one."""
    rows = max(1, min(summary.trials, 100_000))
    count = min(len(summary.metrics), max(1, MOST_ROWS // rows))
    if count == len(summary.metrics):
        return count, []
    return count, [
        f"The {count} most important of {len(summary.metrics)} metrics have charts; the tables show all."
    ]


def _latency_charts(record: RunRecord, summary: RunSummary) -> tuple[dict[str, Chart], list[str]]:
    """A chart for each histogram metric that any cell has."""
    curves: dict[str, dict[str, list[PercentilePoint]]] = {}
    damaged: list[int] = []
    for cell in summary.cells[:MOST_CURVES]:
        whole = merge_histograms(record, cell)
        damaged += whole.damaged
        for name, histogram in whole.histograms.items():
            curves.setdefault(name, {})[cell.cell.key] = percentile_curve(histogram)
    units = {name: metric.unit for name, metric in record.metrics.items()}
    charts = {
        name: percentiles(number, name, units.get(name, "1"), by_cell)
        for number, (name, by_cell) in enumerate(curves.items())
    }
    notes = [f"The histograms of trials {', '.join(map(str, damaged))} cannot be read."] if damaged else []
    return charts, notes


def _host_charts(
    record: RunRecord, trials: Sequence[TrialRecord], events: Events, zeros: dict[int, TimeOrigin | None]
) -> tuple[dict[str, Chart], list[Choice], list[str]]:
    """The hosts during the shown trials, which count from the first sample of any where nothing happened."""
    charts: dict[str, Chart] = {}
    choices: list[Choice] = []
    notes: list[str] = []
    for trial in trials:
        try:
            hosts = load_samples(record, trial.number, COLUMNS)
        except StoreError as error:
            notes.append(f"Telemetry of trial {trial.number} cannot be read: {error.message}")
            continue
        happened = events.get(trial.number, ())
        for host in hosts:
            number, zero = len(choices), zeros.setdefault(trial.number, TimeOrigin(host.wall, host.began))
            since = zero.mono if zero else None
            panels = {panel.key: host_panel(number, host, panel, happened, zero=since) for panel in PANELS}
            charts |= {f"{key}/{number}": chart for key, chart in panels.items() if chart}
            choices.append(
                Choice(str(number), _label_trial(trial) + (f", {host.host}" if len(hosts) > 1 else ""))
            )
    return charts, choices, notes


def _collected_charts(
    record: RunRecord,
    trials: Sequence[TrialRecord],
    events: Events,
    zeros: Mapping[int, TimeOrigin | None],
) -> tuple[dict[str, Chart], list[Choice], list[str]]:
    """What collectors recorded during the shown trials, of each host or server that they looked at."""
    charts: dict[str, Chart] = {}
    choices: list[Choice] = []
    notes: list[str] = []
    for trial in trials:
        try:
            by_label = load_collected(record, trial.number)
        except StoreError as error:
            notes.append(f"What collectors recorded in trial {trial.number} cannot be read: {error.message}")
            continue
        happened, zero = events.get(trial.number, ()), zeros.get(trial.number)
        for label, tables in by_label.items():
            panels = draw_collected(len(choices), tables, happened, zero.mono if zero else None)
            charts |= {f"collected{place}/{len(choices)}": chart for place, chart in enumerate(panels)}
            choices.append(Choice(str(len(choices)), f"{_label_trial(trial)}, {label}"))
    return charts, choices, notes


def _series_charts(
    record: RunRecord,
    trials: Sequence[TrialRecord],
    events: Events,
    zeros: Mapping[int, TimeOrigin | None],
    lead: str,
) -> tuple[dict[str, Chart], list[Choice]]:
    """The time series of the shown trials; what cannot be read is left out, its figures stand elsewhere."""
    charts: dict[str, Chart] = {}
    choices: list[Choice] = []
    for trial in trials:
        with suppress(StoreError):
            if series := load_series(record, trial.number):
                number, happened = len(choices), events.get(trial.number, ())
                zero = zeros.get(trial.number)
                panels = draw_series(number, series, dict(record.metrics), happened, zero, lead)
                charts |= {f"over{position}/{number}": chart for position, chart in enumerate(panels)}
                choices.append(Choice(str(number), _label_trial(trial)))
    return charts, choices


def _label_trial(trial: TrialRecord) -> str:
    kinds = ", ".join(dict.fromkeys(mark.kind for mark in trial.marks))
    return f"trial {trial.number}: {trial.result.trial.cell.key}" + (f" ({kinds})" if kinds else "")


def chart_kinds(charts: Mapping[str, Chart]) -> Iterator[str]:
    """The kinds of charts that there are, each once: `distribution`, `against`, `percentiles`, `cpu` …"""
    yield from dict.fromkeys(key.partition("/")[0] for key in charts)
