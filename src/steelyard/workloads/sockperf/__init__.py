"""`use: sockperf`: how long a message takes through the network, and back."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import (
    Command,
    Duration,
    Frequency,
    Metric,
    Output,
    Place,
    Reading,
    Size,
    Tool,
    latency_metrics,
)
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.client import ClientOptions, endpoint, fail_without_server
from steelyard.workloads.sockperf import output as result

SOCKPERF = Tool("sockperf", apt="sockperf", dnf="sockperf", at_least="3.6")
_SMALLEST, _LARGEST = 14, 65507  # bytes of a message, as sockperf has it

_RUN = """
sockperf "$@" > "$OUT/sockperf.txt" 2>&1 || true
grep -qE 'Summary:|No messages were received' "$OUT/sockperf.txt" || { cat "$OUT/sockperf.txt" >&2; exit 1; }
"""
# The log has a line a message; it is folded when the measurement is over. Bins are 1/64 of a power of two.
_FOLD = """
awk -F ', *' '
$1 ~ /^[0-9]+$/ && NF == 4 {
    ns = ($3 - $2) * 1e9; if (ns < 1) ns = 1
    power = int(log(ns) / log(2) + 1e-9); low = 2 ^ power
    bins[int((ns - low) * 64 / low) + 64 * power]++; all++
}
END {
    for (bin in bins) {
        power = int(bin / 64); printf "%.9g %d\\n", 2 ^ power * (1 + (bin % 64 + 0.5) / 64), bins[bin]
    }
    printf "all %d\\n", all
}' messages.csv > "$OUT/round-trips.txt"
rm -f messages.csv
"""


class SockperfOptions(ClientOptions):
    """What is sent, how often, and what comes back."""

    port: int = Field(11111, ge=1, le=65535, description="The first port of `server`.")
    mode: Literal["ping-pong", "under-load", "throughput"] = Field(
        "ping-pong",
        description="ping-pong: wait for each answer; under-load: send at a rate, with some answers; "
        "throughput: send without answers.",
    )
    protocol: Literal["tcp", "udp"] = Field("tcp", description="tcp or udp.")
    message: Size = Field(Size(64), description="Size of a message and of its answer, in bytes; at least 14.")
    duration: Duration = Field(Duration(5), description="How long to measure, in whole seconds.")
    rate: Frequency | None = Field(
        None,
        description="Messages per second to send (`500/s` or 500). Default: 10000 under load, otherwise as "
        "fast as possible.",
    )
    reply_every: int = Field(
        100, ge=2, le=10**6, description="Under load: one answer per this many messages."
    )
    burst: int = Field(1, ge=1, le=10**6, description="Messages sent in one burst.")
    buffer: Size | None = Field(
        None, description="Socket buffer that the client requests, in bytes. Default: the system's."
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.duration % 1 or not 1 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not a whole number of seconds from 1 to 86400")
        if not _SMALLEST <= self.message <= _LARGEST:
            raise ValueError(f"message: sockperf sends {_SMALLEST} to {_LARGEST} bytes")
        if self.rate is not None and (self.rate % 1 or self.rate < 1):
            raise ValueError(f"rate: {self.rate} is not a whole number of messages per second")
        return self


class Sockperf(Workload[SockperfOptions]):
    """Request and response between two hosts: the round-trip time of each message.

    **Measures** `round_trip`, a histogram of the time from sending a message to receiving its answer, and
    `answers` per second; without answers (`mode: throughput`) the messages sent per second.

    **Source**: sockperf, https://github.com/Mellanox/sockperf, from its full log of messages; it excludes 400
    ms at the start and 50 ms at the end. It replaces the request/response tests of XtreemOS D4.2.7, 4.4.3,
    measured by netperf's TCP_RR and UDP_RR; sockperf's answers are as long as its requests (for TCP, netbench
    has answers of another length).

    **How to read it.** sockperf itself prints half of the round trip as latency; here it is the full round
    trip. Bins are 1/64 wide, and those of all copies and hosts are added up before percentiles are computed.
    Under load, a late answer does not delay the next message, so waiting is visible; in ping-pong it is
    hidden. Times count from sending: once a stalled server has let the socket's buffer fill up, waiting
    before the buffer is not measured. In the mode throughput, arrivals are not measured: with UDP, messages
    may be lost.
    """

    Options = SockperfOptions
    needs = (SOCKPERF,)
    talks_to = frozenset({"sockperf"})
    examples = (
        {"duration": "1s"},
        {"mode": "under-load", "protocol": "udp", "duration": "1s", "rate": 5000, "reply_every": 5},
        {"mode": "throughput", "duration": "1s", "message": "1KiB", "buffer": "64KiB"},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """By mode."""
        if self.options.mode == "throughput":
            return (
                Metric("messages", "1/s", "higher", "messages sent per second"),
                Metric("sent_throughput", "B/s", "higher", "bytes sent per second"),
            )
        return (
            Metric("answers", "1/s", "higher", "answers received per second"),
            Metric("messages", "1/s", "higher", "messages sent per second"),
            Metric("dropped", "1", "lower", "messages that were never answered"),
            *latency_metrics("round_trip", "time from sending a message to its answer"),
        )

    def command(self, place: Place) -> Command:
        """The client, and a fold of its log where it keeps one."""
        to = endpoint(place, self.options)
        if to is None:
            return fail_without_server("sockperf")
        argv = [self.options.mode, "--ip", to.address, "--port", str(to.port), *self._mode_arguments()]
        script = _RUN
        if self.options.mode != "throughput":
            argv += ["--full-log", "messages.csv"]
            script += _FOLD
        return Command(("sh", "-eu", "-c", script, "sh", *argv), {"OUT": str(place.raw)}, cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_sockperf_output`. Raises ParseFailure."""
        if self.options.mode == "throughput":
            return result.parse_throughput(output, int(self.options.message))
        return result.parse_round_trips(output)

    def closed_loop_advice(self) -> str | None:
        """In ping-pong, also at a rate: what was due meanwhile counts from when it was sent."""
        return "use `mode: under-load`" if self.options.mode == "ping-pong" else None

    def seconds(self) -> float | None:
        """The time, and about 2.2 s that sockperf takes around it."""
        return self.options.duration + 2.2

    def disk(self) -> int:
        """The log: about 40 bytes a message, of which 100,000 a second are many."""
        logged = self.options.mode != "throughput"
        return int(40 * 100_000 * self.options.duration) if logged else 0

    def _mode_arguments(self) -> list[str]:
        options = self.options
        argv = ["--tcp"] if options.protocol == "tcp" else []
        argv += ["--msg-size", str(int(options.message)), "--time", str(int(options.duration))]
        argv += ["--mps", f"{options.rate:.0f}"] if options.rate else []
        argv += ["--burst", str(options.burst)] if options.burst > 1 else []
        argv += ["--buffer-size", str(int(options.buffer))] if options.buffer else []
        return argv + (["--reply-every", str(options.reply_every)] if options.mode == "under-load" else [])
