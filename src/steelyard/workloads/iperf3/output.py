"""From iperf3's JSON to a reading. Its rates are bits per second, its round-trip times microseconds.

`sum_sent` and `sum_received` are what both ends counted; with `--bidir` the other direction has sums of its
own with `_bidir_reverse` in their names. What was granted (socket buffers, segment size) becomes facts.
"""

from __future__ import annotations

from typing import Literal

from steelyard.plugin import Metric, NothingMeasured, ParseFailure, Reading, SeriesSample
from steelyard.workloads.kit.document import JsonNode, parse_document

Protocol = Literal["tcp", "udp"]
Direction = Literal["send", "receive", "both"]
_OTHER = "_bidir_reverse"

_THROUGHPUT = Metric("throughput", "B/s", "higher", "bytes received per second, in all directions")
_BOTH = (
    Metric("sent_throughput", "B/s", "higher", "bytes received per second at the server"),
    Metric("received_throughput", "B/s", "higher", "bytes received per second at the client"),
)
_TCP = (Metric("retransmits", "1", "lower", "retransmitted segments"),)
_RTT = (
    Metric(
        "rtt",
        "s",
        "lower",
        "mean smoothed round-trip time of the client's connections (TCP_INFO)",
        over_copies="mean",
    ),
)
_UDP = (
    Metric("jitter", "s", "lower", "smoothed variation of the transit time (RFC 1889)", over_copies="max"),
    Metric("loss", "%", "lower", "share of datagrams lost", over_copies="mean"),
    Metric("datagrams", "1/s", "higher", "datagrams received per second"),
)
_CPU = (
    Metric("cpu_client", "%", "lower", "CPU time of the client over the run time (100 % is one core)"),
    Metric("cpu_server", "%", "lower", "CPU time of the server over the run time (100 % is one core)"),
)


def metrics(protocol: Protocol, direction: Direction) -> tuple[Metric, ...]:
    """Everything that `parse_output` gives."""
    both = _BOTH if direction == "both" else ()
    if protocol == "udp":
        return (_THROUGHPUT, *both, *_UDP, *_CPU)
    return (_THROUGHPUT, *both, *_TCP, *(() if direction == "receive" else _RTT), *_CPU)


def parse_output(text: str, protocol: Protocol, direction: Direction) -> Reading:
    """What one client printed. Raises ParseFailure, also with the reason why iperf3 itself gave up."""
    top = _read_document(text)
    if "error" in dict(top.items()):
        raise ParseFailure(f"iperf3 aborted: {top.child('error').text()}")
    end = top.child("end")
    endings = ("", _OTHER) if direction == "both" else ("",)
    values = _rates(end, endings) | _cpu(end.child("cpu_utilization_percent"))
    values |= _udp(end, endings) if protocol == "udp" else _tcp(end, endings, direction)
    return Reading(values, facts=_facts(top))


def parse_series(text: str, began: float) -> tuple[SeriesSample, ...]:
    """The client's throughput in each interval after the warm-up. `began`: seconds since 1970.

    With both directions what it sent and what it received are added up.
    """
    samples = []
    for node in _read_document(text).child("intervals").nodes():
        sums = [child for name, child in node.items() if name in ("sum", f"sum{_OTHER}")]
        length = sums[0].child("seconds").number() if sums else 0.0
        if length and sums[0].child("omitted", default=False).value is not True:
            rate = sum(child.child("bytes").number() for child in sums) / length
            at = began + sums[0].child("end").number()
            samples.append(SeriesSample(at, length, {_THROUGHPUT.name: rate}))
    return tuple(samples)


def _read_document(text: str) -> JsonNode:
    """Its document, before which it prints its warnings."""
    return parse_document(text[max(text.find("{"), 0) :], "iperf3")


def _rates(end: JsonNode, endings: tuple[str, ...]) -> dict[str, float]:
    rates = [_rate(end.child(f"sum_received{ending}")) for ending in endings]
    parts = (
        dict(zip(("sent_throughput", "received_throughput"), rates, strict=True)) if len(rates) == 2 else {}
    )
    return {"throughput": sum(rates), **parts}


def _rate(node: JsonNode) -> float:
    seconds = node.child("seconds").number()
    if not seconds:
        raise NothingMeasured(f"{node.where}: nothing was received")
    return node.child("bytes").number() / seconds


def _tcp(end: JsonNode, endings: tuple[str, ...], direction: Direction) -> dict[str, float]:
    again = [end.child(f"sum_sent{ending}").child("retransmits").number() for ending in endings]
    values = {"retransmits": sum(again)}
    if direction != "receive":
        sent = [node.child("sender") for node in end.child("streams").nodes()]
        ours = [node for node in sent if node.child("sender", default=False).value is True]
        times = [node.child("mean_rtt").number() / 1e6 for node in ours]
        if not times:
            raise ParseFailure(f"{end.where} lacks the client's streams")
        values["rtt"] = sum(times) / len(times)
    return values


def _udp(end: JsonNode, endings: tuple[str, ...]) -> dict[str, float]:
    sums = [end.child(f"sum_received{ending}") for ending in endings]
    packets = [node.child("packets").number() for node in sums]
    lost = [node.child("lost_packets").number() for node in sums]
    if not all(packets):
        raise NothingMeasured(f"{end.where}: no datagram was sent")
    arrived = (
        (sent - gone) / node.child("seconds").number()
        for sent, gone, node in zip(packets, lost, sums, strict=True)
    )
    return {
        "jitter": max(node.child("jitter_ms").number() for node in sums) / 1e3,
        "loss": sum(lost) / sum(packets),
        "datagrams": sum(arrived),
    }


def _cpu(node: JsonNode) -> dict[str, float]:
    return {
        "cpu_client": node.child("host_total").number() / 100,
        "cpu_server": node.child("remote_total").number() / 100,
    }


def _facts(top: JsonNode) -> dict[str, object]:
    start, end = dict(top.child("start").items()), dict(top.child("end").items())
    wanted = ("version", "tcp_mss_default", "sock_bufsize", "sndbuf_actual", "rcvbuf_actual", "test_start")
    facts = {name: start[name].value for name in wanted if name in start}
    used = ("sender_tcp_congestion", "receiver_tcp_congestion")
    return facts | {name: end[name].value for name in used if name in end}
