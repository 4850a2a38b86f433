"""Series as drawings: they fit, gaps are gaps, and events stand where they happened."""

from __future__ import annotations

import pytest

from steelyard.analysis.over_time.event_log import LoggedEvent
from steelyard.watching.samples import LiveSeries
from steelyard.web.live.plot import HEIGHT, WIDTH, plot_series


def points(plot):
    return [tuple(map(float, point.split(","))) for line in plot.lines for point in line.split()]


@pytest.mark.parametrize(
    "values", [[1.0], [0.0, 0.0], [5.0] * 120, [-3.0, 4.0], [1e18, 1e-18], [float(n) for n in range(300)]]
)
def test_it_fits(values):
    plot = plot_series(LiveSeries("rate", "1/s", values, [1e9 + n for n in range(len(values))]), [])
    assert len(points(plot)) == len(values)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points(plot))


def test_a_gap_is_no_line():
    plot = plot_series(LiveSeries("rate", "1/s", [1.0] * 6, [1.0, 2.0, 3.0, 30.0, 31.0, 32.0]), [])
    assert len(plot.lines) == 2
    assert plot.newest == "1.00/s"


def test_events_are_bands_where_they_happened():
    kill = LoggedEvent("kill", 5.0, 15.0, 110.0, "at 10 s", 10.0, outage=True)
    going = LoggedEvent("cut", 90.0, None, 190.0, "at 90 s", 90.0, outage=True)
    before = LoggedEvent("old", 0.0, 1.0, 50.0, "at 0 s", 0.0, outage=False)
    times = [100.0 + n for n in range(101)]
    plot = plot_series(LiveSeries("rate", "1/s", [1.0] * 101, times), [before, kill, going])
    (first, second) = plot.bands
    assert (first.label, first.x, first.width) == ("kill", 60.0, 60.0)
    assert (second.label, second.x, second.width) == ("cut", 540.0, 60.0)
