"""`/runs/ID/trials/N/telemetry`: a trial over time: the workload's own figures, and what its hosts did."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response

from steelyard.analysis.damage import guard_record
from steelyard.errors import UnknownName
from steelyard.store.reader import RunRecord
from steelyard.watching.samples import LiveSeries
from steelyard.web.context import find_run
from steelyard.web.live.plot import Plot, plot_series
from steelyard.web.quiet import find_reason_to_wait
from steelyard.web.render import draw_part, respond


async def show_telemetry(request: Request) -> Response:
    """The page; a trial that is running is on its run's page. Reading tables waits while a run measures."""
    record, number = RunRecord(find_run(request)), request.path_params["number"]
    if number not in {trial.number for trial in record.trials}:
        numbers = [str(trial.number) for trial in record.trials]
        raise UnknownName("finished trial", str(number), numbers)
    waits = find_reason_to_wait(request)
    series = [] if waits else await asyncio.to_thread(lambda: list(_list_series(record, number)))
    plots = await asyncio.to_thread(lambda: _plot(record, number, series)) if series else []
    facts = {"run": record.id, "heading": f"Trial {number} over time", "number": number, "waits": waits}
    drawn = draw_part("parts.html.j2", "series", plots)
    return respond(request, "telemetry.html.j2", {**facts, "series": series}, drawn=drawn, count=len(plots))


def _plot(record: RunRecord, number: int, series: list[LiveSeries]) -> list[Plot]:
    from steelyard.analysis.over_time.event_log import list_events

    with guard_record(record.id):
        events = list_events(record).get(number, [])
        return [plot_series(line, events) for line in series]


def _list_series(record: RunRecord, number: int) -> Iterator[LiveSeries]:
    """The workload's first, then those of each host."""
    with guard_record(record.id):
        yield from _list_figures(record, number)
        yield from _list_hosts(record, number)


def _list_figures(record: RunRecord, number: int) -> Iterator[LiveSeries]:
    """What the workload told, by copy."""
    for place, samples in enumerate(record.series(number), start=1):
        by_metric: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for sample in samples:
            for name, value in sample.values.items():
                by_metric[name].append((sample.at, value))
        for name, points in by_metric.items():
            if metric := record.metrics.get(name):
                label = f"{name}, copy {place}"
                yield LiveSeries(label, metric.unit, [one for _, one in points], [at for at, _ in points])


def _list_hosts(record: RunRecord, number: int) -> Iterator[LiveSeries]:
    """Host telemetry, which loads a library for its tables."""
    from steelyard.analysis.over_time.telemetry import load_samples
    from steelyard.report.charts.hosts import COLUMNS, PANELS

    for host in load_samples(record, number, COLUMNS):
        for panel in PANELS:
            for column, line in panel.lines.items():
                points = [
                    (host.wall + moment, value)
                    for moment, value in zip(host.seconds, host.columns.get(column, ()), strict=False)
                    if value is not None
                ]
                if points:
                    label = f"{host.host}: {panel.title}, {line}"
                    yield LiveSeries(label, panel.unit, [one for _, one in points], [at for at, _ in points])
