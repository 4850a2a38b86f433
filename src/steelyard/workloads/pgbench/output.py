"""From what pgbench printed, and the fold of its log of transactions, to a reading."""

from __future__ import annotations

import re

from steelyard.plugin import (
    QUANTILES,
    Metric,
    NothingMeasured,
    Output,
    ParseFailure,
    Reading,
    SeriesSample,
    latency_metrics,
)
from steelyard.workloads.kit.folded_log import parse_histogram, read_lines

_NUMBER = r"(\d+(?:\.\d+)?)"
_PROCESSED = re.compile(r"^number of transactions actually processed: (\d+)$", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d+) \(", re.MULTILINE)
_MEAN = re.compile(rf"^latency average = {_NUMBER} ms$", re.MULTILINE)
_STDDEV = re.compile(rf"^latency stddev = {_NUMBER} ms$", re.MULTILINE)
_CONNECTING = re.compile(rf"^initial connection time = {_NUMBER} ms$", re.MULTILINE)
_RATE = re.compile(rf"^tps = {_NUMBER} \(without initial connection time\)$", re.MULTILINE)
_VERSION = re.compile(r"^pgbench \((?:PostgreSQL\) )?([\d.]+)", re.MULTILINE)
_PROGRESS = re.compile(
    rf"^progress: {_NUMBER} s, {_NUMBER} tps, lat {_NUMBER} ms stddev {_NUMBER}, (\d+) failed", re.MULTILINE
)
EVERY = 1
"""Seconds between two lines of progress."""

# A line a transaction: client, number, microseconds or `failed`, … Bins are 1/64 of a power of two.
FOLD = """
cat transactions.* | awk '
NF >= 6 && $3 ~ /^[0-9]+$/ {
    us = $3; if (us < 1) us = 1
    power = int(log(us) / log(2) + 1e-9); low = 2 ^ power
    bins[int((us - low) * 64 / low) + 64 * power]++; all++
}
END {
    for (bin in bins) {
        power = int(bin / 64); printf "%.9g %d\\n", 2 ^ power * (1 + (bin % 64 + 0.5) / 64), bins[bin]
    }
    printf "all %d\\n", all
}' > "$OUT/latencies.txt"
rm -f transactions.*
"""


def metrics(*, paced: bool) -> tuple[Metric, ...]:
    """With a rate pgbench itself counts latencies from when a transaction was due, and they lead."""
    about = "time of a transaction" + (", from its scheduled start" if paced else "")
    rate = (Metric("tps", "1/s", "higher", "transactions per second, excluding the time to connect"),)
    latencies = latency_metrics("latency", about)
    return (
        *(latencies + rate if paced else rate + latencies),
        Metric("latency_mean", "s", "lower", "arithmetic mean of the time", over_copies="mean"),
        Metric("latency_stddev", "s", "lower", "standard deviation of the time", over_copies="mean"),
        Metric("failed_transactions", "1", "lower", "transactions that ended with an error"),
        Metric("connection_time", "s", "lower", "time until all connections were open", over_copies="max"),
    )


def parse_output(output: Output) -> Reading:
    """One run. Raises ParseFailure, also when its log and what it printed tell of different numbers."""
    text, what = output.stdout, "the summary of pgbench's log"
    processed = int(_find_value(_PROCESSED, text, "number of transactions"))
    histogram = parse_histogram(read_lines(output, "latencies.txt", what), what, divisor=1e6)
    if not processed:
        raise NothingMeasured("no transaction ended")
    if histogram.count != processed:
        raise ParseFailure(f"pgbench reports {processed} transactions, but its log has {histogram.count}")
    values = {
        "tps": float(_find_value(_RATE, text, "tps")),
        "latency_mean": float(_find_value(_MEAN, text, "latency average")) / 1e3,
        "latency_stddev": float(_find_value(_STDDEV, text, "latency stddev")) / 1e3,
        "failed_transactions": float(_find_value(_FAILED, text, "number of failed transactions")),
        "connection_time": float(_find_value(_CONNECTING, text, "initial connection time")) / 1e3,
    }
    values |= {f"latency_{name}": histogram.quantile(share) for name, share in QUANTILES.items()}
    version = _VERSION.search(text)
    facts = {"version": version[1], "transactions": processed} if version else {"transactions": processed}
    return Reading(values, {"latency": dict(histogram.bins)}, facts=facts)


def parse_series(text: str) -> tuple[SeriesSample, ...]:
    """Its lines of progress on stderr, each with the time of its end; a line that is damaged is left out."""
    samples: list[SeriesSample] = []
    for line in _PROGRESS.finditer(text):
        at, tps, mean, stddev, failed = map(float, line.groups())
        values = {
            "tps": tps,
            "latency_mean": mean / 1e3,
            "latency_stddev": stddev / 1e3,
            "failed_transactions": failed,
        }
        samples.append(SeriesSample(at, at - samples[-1].at if samples else float(EVERY), values))
    return tuple(samples)


def _find_value(pattern: re.Pattern[str], text: str, what: str) -> str:
    match = pattern.search(text)
    if not match:
        raise ParseFailure(f"pgbench's output lacks its {what}: {text.strip()[-60:]!r}")
    return match[1]
