"""From what redis-benchmark printed to a reading. Its latencies are milliseconds.

Each test has a part of its own, which begins with its title. It tells points of the cumulative distribution
twice, by share and by latency, and exact percentiles; together they make the histogram.
"""

from __future__ import annotations

import re

from steelyard.plugin import QUANTILES, Metric, ParseFailure, Reading, latency_metrics
from steelyard.plugin.workload import Histogram

_TITLE = re.compile(r"^====== (.+) ======$", re.MULTILINE)
_COMPLETED = re.compile(r"^ *(\d+) requests completed in ", re.MULTILINE)
_POINT = re.compile(r"^\d+\.\d+% <= (\d+\.\d+) milliseconds \(cumulative count (\d+)\)$", re.MULTILINE)
_RATE = re.compile(r"^ *throughput summary: (\d+\.\d+) requests per second$", re.MULTILINE)
_COLUMNS = ("avg", "min", "p50", "p95", "p99", "max")
_SUMMARY = re.compile(rf"^ *{' +'.join(_COLUMNS)}\n *{' +'.join([r'([0-9]+[.][0-9]+)'] * 6)}\n", re.MULTILINE)
_FACT = re.compile(
    r"^ *(keep alive|threads|cluster mode|host configuration \"\w+\"): *(.*?) *$", re.MULTILINE
)


def metrics(test: str) -> tuple[Metric, ...]:
    """What is known of one test."""
    return (
        Metric(f"{test}_rate", "1/s", "higher", f"{test} requests per second"),
        *latency_metrics(f"{test}_latency", f"time from a {test} request to its answer"),
        Metric(f"{test}_latency_mean", "s", "lower", "arithmetic mean of the time", over_copies="mean"),
        Metric(f"{test}_latency_max", "s", "lower", "longest time", over_copies="max"),
    )


def parse_output(text: str, tests: tuple[str, ...], requests: int) -> Reading:
    """All tests that were asked for, each with at least as many requests. Raises ParseFailure."""
    parts = _TITLE.split(text.replace("\r", "\n"))
    sections = dict(zip(map(_test_name, parts[1::2]), parts[2::2], strict=True))
    values: dict[str, float] = {}
    histograms = {}
    for test in tests:
        if test not in sections:
            raise ParseFailure(f"redis-benchmark's output lacks the test {test}: {text.strip()[-60:]!r}")
        of_test, histogram = _parse_test(test, sections[test], requests)
        values |= of_test
        histograms[f"{test}_latency"] = dict(histogram.bins)
    return Reading(values, histograms, facts=dict(_FACT.findall(sections[tests[0]])))


def _test_name(title: str) -> str:
    """`mset` for `MSET (10 keys)`; the LPUSH that only makes a list for LRANGE is none of the tests."""
    name, _, rest = title.partition(" (")
    return title if rest.startswith("needed") else name.lower()


def _parse_test(test: str, text: str, requests: int) -> tuple[dict[str, float], Histogram]:
    rate, summary, completed = _RATE.search(text), _SUMMARY.search(text), _COMPLETED.search(text)
    if not (rate and summary and completed):
        raise ParseFailure(f"redis-benchmark's output for test {test} is truncated: {text.strip()[-60:]!r}")
    if int(completed[1]) < requests:
        raise ParseFailure(f"{completed[1]} {test} requests were answered, but {requests} were requested")
    said = {name: float(value) / 1e3 for name, value in zip(_COLUMNS, summary.groups(), strict=True)}
    histogram = _parse_histogram(test, text, {quantile: said[quantile] for quantile in ("p50", "p95", "p99")})
    quantiles = {name: said.get(name, histogram.quantile(share)) for name, share in QUANTILES.items()}
    values = {f"{test}_rate": float(rate[1])}
    values |= {f"{test}_latency_{name}": value for name, value in quantiles.items()}
    return values | {f"{test}_latency_mean": said["avg"], f"{test}_latency_max": said["max"]}, histogram


def _parse_histogram(test: str, text: str, exact: dict[str, float]) -> Histogram:
    """From points of the cumulative distribution; a bin ends at its point."""
    points = {round(float(value) / 1e3, 6): int(count) for value, count in _POINT.findall(text)}
    total = max(points.values(), default=0)
    for name, value in exact.items():  # as HdrHistogram counts: half an observation more, rounded down
        points.setdefault(round(value, 6), int(QUANTILES[name] * total + 0.5))
    bins, before = {}, 0
    for value, count in sorted(points.items()):
        if count < before:
            raise ParseFailure(
                f"redis-benchmark's distribution of {test} does not increase at {value * 1e3:g} ms"
            )
        bins[value], before = count - before, count
    if not total:
        raise ParseFailure(f"redis-benchmark's test {test} has no distribution of latencies")
    return Histogram.of(bins)
