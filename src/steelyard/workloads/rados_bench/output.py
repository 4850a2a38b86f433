"""From what `rados bench` printed to a reading. Its numbers are JSON strings, a megabyte is 2^20 bytes."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from steelyard.plugin import Metric, NothingMeasured, Output, ParseFailure, Reading, SeriesSample
from steelyard.workloads.kit.document import JsonNode, parse_last_line

Better = Literal["higher", "lower", "none"]
OverCopies = Literal["mean", "min", "max"]
_MIB = 2**20
_TOOL = "rados bench"
_NONE_SEEN = {"bandwidth": 1e300, "iops": 2.0**31 - 1}


def list_metrics(phase: str) -> tuple[Metric, ...]:
    """Of one phase; its reads print less."""
    is_write = phase == "write"
    latency, bandwidth, iops = f"{phase}_latency", f"{phase}_bandwidth", f"{phase}_iops"
    about = f"bytes {'written' if is_write else 'read'} per second"
    spread = (*_list_spread(bandwidth, "B/s"), *_list_spread(iops, "1/s")) if is_write else ()
    deviation = (_detail(f"{latency}_stddev", "s", "lower", "standard deviation of the time", "mean"),)
    return (
        Metric(bandwidth, "B/s", "higher", about),
        Metric(iops, "1/s", "higher", "operations per second"),
        Metric(f"{latency}_mean", "s", "lower", "arithmetic mean of an operation's time", over_copies="mean"),
        Metric(f"{latency}_max", "s", "lower", "longest time of an operation", over_copies="max"),
        _detail(f"{latency}_min", "s", "lower", "shortest time of an operation", "min"),
        *(deviation if is_write else ()),
        *(spread or _list_spread(iops, "1/s")[1:]),
        _detail(f"{phase}_time", "s", "none", "how long the phase lasted", "max"),
    )


def _list_spread(name: str, unit: str) -> tuple[Metric, ...]:
    """The deviation comes first: reads have none."""
    about = "of the figures of each second"
    return (
        _detail(f"{name}_stddev", unit, "lower", f"standard deviation {about}", "mean"),
        _detail(f"{name}_max", unit, "higher", f"largest {about}", "max"),
        _detail(f"{name}_min", unit, "higher", f"smallest {about}", "min"),
    )


def _detail(name: str, unit: str, better: Better, about: str, over: OverCopies) -> Metric:
    return Metric(name, unit, better, about, over_copies=over, secondary=True)


def parse_output(phase: str, output: Output) -> Reading:
    """One phase. Raises ParseFailure."""
    said = parse_last_line(output.stdout, _TOOL)
    verb = "write" if phase == "write" else "read"
    made, size = _number(said.child(f"total_{verb}s_made")), _number(said.child(f"{verb}_size"))
    time = _number(said.child("total_time_run"))
    if not made or not size or not time:
        raise NothingMeasured(f"{_TOOL}: not one operation of the phase {phase} was completed")
    most, least = _read_extremes(said, "iops", made / time)
    values = {
        "bandwidth": _number(said.child("bandwidth")) * _MIB,
        "iops": made / time,
        "iops_max": most,
        "iops_min": least,
        "latency_mean": _number(said.child("average_latency")),
        "latency_max": _number(said.child("max_latency")),
        "latency_min": _number(said.child("min_latency")),
        "time": time,
    }
    if phase == "write":
        values["bandwidth_stddev"] = _number(said.child("stddev_bandwidth")) * _MIB
        most, least = _read_extremes(said, "bandwidth", values["bandwidth"] / _MIB)
        values["bandwidth_max"], values["bandwidth_min"] = most * _MIB, least * _MIB
        values["latency_stddev"] = _number(said.child("stddev_latency"))
        # Version 16 prints a random number for it; all operations are of one size.
        values["iops_stddev"] = values["bandwidth_stddev"] / size
    facts = {"operations": int(made), "object_size": int(_number(said.child("object_size")))}
    return Reading({f"{phase}_{name}": value for name, value in values.items()}, facts=facts)


def parse_series(phase: str, output: Output) -> tuple[SeriesSample, ...]:
    """Each second; they are counted from when the first operation began, which is near the phase's end less
    the time that it took. Raises ParseFailure.
    """
    said = parse_last_line(output.stdout, _TOOL)
    size = _number(said.child("write_size" if phase == "write" else "read_size"))
    began = output.exit.started + max(0.0, output.exit.wall - _number(said.child("total_time_run")))
    seconds = [
        (_number(one.child("sec")), _number(one.child("finished"))) for one in said.child("datas").nodes()
    ]
    samples = []
    for (before, earlier), (at, finished) in pairwise(seconds):
        if at <= before or finished < earlier:
            continue
        rate = (finished - earlier) / (at - before)
        values = {f"{phase}_iops": rate, f"{phase}_bandwidth": rate * size}
        samples.append(SeriesSample(began + at, at - before, values))
    return tuple(samples)


def _read_extremes(said: JsonNode, what: str, overall: float) -> tuple[float, float]:
    """The largest and smallest of all seconds; those of the whole phase where not one second was complete.

    Then the smallest is still what its search begins with: the largest number of its type.
    """
    if _parse_text(said.child(f"min_{what}")) >= _NONE_SEEN[what]:
        return overall, overall
    return _number(said.child(f"max_{what}")), _number(said.child(f"min_{what}"))


def _number(node: JsonNode) -> float:
    return JsonNode(_parse_text(node), node.where).number()


def _parse_text(node: JsonNode) -> float:
    text = node.text()
    try:
        return float(text)
    except ValueError:
        raise ParseFailure(f"{node.where}: {text[:60]!r} is not a number") from None
