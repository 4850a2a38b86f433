"""From what sockperf printed, and the fold of its log, to a reading."""

from __future__ import annotations

import re

from steelyard.plugin import QUANTILES, NothingMeasured, Output, ParseFailure, Reading
from steelyard.plugin.workload import Histogram
from steelyard.workloads.kit.folded_log import parse_histogram, read_lines

_VERSION = re.compile(r"version #?(\S+)")
_VALID = re.compile(r"\[Valid Duration\] RunTime=([\d.]+) sec; SentMessages=(\d+); ReceivedMessages=(\d+)")
_DROPPED = re.compile(r"# dropped messages = (\d+);")
_RATE = re.compile(r"Summary: Message Rate is (\d+) \[msg/sec\]")
_SILENT = "No messages were received from the server"
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def parse_throughput(output: Output, message: int) -> Reading:
    """The rate of messages of so many bytes. Raises ParseFailure."""
    text = _read_text(output)
    rate = float(_find_values(_RATE, text, "message rate")[0])
    return Reading({"messages": rate, "sent_throughput": rate * message}, facts=_facts(text))


def parse_round_trips(output: Output) -> Reading:
    """The round trips of one client. Raises ParseFailure, also when the log and the summary differ."""
    text = _read_text(output)
    if _SILENT in text:
        raise NothingMeasured("the server, if it runs, answered no message")
    seconds, sent, received = (float(part) for part in _find_values(_VALID, text, "valid duration"))
    histogram = _parse_histogram(output)
    if not seconds or histogram.count != received or not received:
        raise ParseFailure(f"sockperf reports {received:.0f} answers, but its log has {histogram.count}")
    values = {
        "answers": received / seconds,
        "messages": sent / seconds,
        "dropped": float(_find_values(_DROPPED, text, "dropped messages")[0]),
    }
    quantiles = {f"round_trip_{name}": histogram.quantile(share) for name, share in QUANTILES.items()}
    return Reading(values | quantiles, {"round_trip": dict(histogram.bins)}, facts=_facts(text))


def _parse_histogram(output: Output) -> Histogram:
    what = "the summary of sockperf's log"
    return parse_histogram(read_lines(output, "round-trips.txt", what), what, divisor=1e9)


def _read_text(output: Output) -> str:
    path = output.raw.get("sockperf.txt")
    if path is None:
        raise ParseFailure("sockperf produced no output")
    return _COLOUR.sub("", path.read_text(errors="replace"))


def _find_values(pattern: re.Pattern[str], text: str, what: str) -> tuple[str, ...]:
    match = pattern.search(text)
    if not match:
        raise ParseFailure(f"sockperf's output lacks its {what}: {text.strip()[-60:]!r}")
    return match.groups()


def _facts(text: str) -> dict[str, str]:
    match = _VERSION.search(text)
    return {"version": match[1]} if match else {}
