"""From the fold of s2n-netbench's trace to a reading."""

from __future__ import annotations

import re

from steelyard.plugin import QUANTILES, NothingMeasured, Output, ParseFailure, Reading
from steelyard.workloads.kit.folded_log import parse_histogram, read_lines

_WHAT = "the summary of s2n-netbench's trace"


def parse_transactions(output: Output) -> Reading:
    """The transactions of one client. Raises ParseFailure, also when they took longer than it ran."""
    lines = read_lines(output, "round-trips.txt", _WHAT)
    histogram = parse_histogram(lines[1:], _WHAT, divisor=1e6)
    match = re.fullmatch(r"seconds (\d+\.\d{6})", lines[0])
    seconds = float(match[1]) if match else 0.0
    if not seconds or not histogram.count:
        raise NothingMeasured("the server answered no request")
    mean = histogram.mean
    if mean * histogram.count > seconds * (1 + 1e-9):
        raise ParseFailure(f"{_WHAT} covers {seconds} s, but its transactions {mean * histogram.count:.6f} s")
    values = {
        "transactions": histogram.count / seconds,
        "round_trip_mean": mean,
        "round_trip_min": histogram.quantile(0),
        "round_trip_max": histogram.quantile(1),
    }
    quantiles = {f"round_trip_{name}": histogram.quantile(share) for name, share in QUANTILES.items()}
    return Reading(values | quantiles, {"round_trip": dict(histogram.bins)})
