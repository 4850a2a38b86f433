"""`use: sockperf`: how long a message takes through the network, and back."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.model.command import Command, Output, Place
from steelyard.model.metric import Metric, Reading, latency_metrics
from steelyard.model.tool import Tool
from steelyard.units import Duration, Frequency, Size
from steelyard.workloads import _sockperf_output as result
from steelyard.workloads._client import ClientOptions, endpoint, fail_without_server
from steelyard.workloads.base import Workload

SOCKPERF = Tool("sockperf", apt="sockperf", dnf="sockperf", at_least="3.6")
_SMALLEST, _LARGEST = 14, 65507  # bytes of a message, as sockperf has it

_RUN = """
sockperf "$@" > "$OUT/sockperf.txt" 2>&1 || true
grep -q Summary: "$OUT/sockperf.txt" || { cat "$OUT/sockperf.txt" >&2; exit 1; }
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

    port: int = Field(11111, ge=1, le=65535, description="The server's first port, with `server`.")
    mode: Literal["ping-pong", "under-load", "throughput"] = Field(
        "ping-pong",
        description="ping-pong: wait for each answer; under-load: send at a rate, some are answered; "
        "throughput: send without answers.",
    )
    protocol: Literal["tcp", "udp"] = Field("tcp", description="tcp or udp.")
    message: Size = Field(Size(64), description="Bytes of a message, and of its answer; at least 14.")
    duration: Duration = Field(Duration(5), description="How long to measure, in whole seconds.")
    rate: Frequency | None = Field(
        None,
        description="Messages per second to send (`500/s` or 500). Default: 10000 under load, else as fast "
        "as it can.",
    )
    reply_every: int = Field(
        100, ge=2, le=10**6, description="Under load: one in so many messages is answered."
    )
    burst: int = Field(1, ge=1, le=10**6, description="Messages sent in one go.")
    buffer: Size | None = Field(
        None, description="Socket buffer asked for by the client, in bytes. Default: the system's."
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.duration % 1 or not 1 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not a whole number of seconds from 1 to 86400")
        if not _SMALLEST <= self.message <= _LARGEST:
            raise ValueError(f"message: sockperf sends {_SMALLEST} to {_LARGEST} bytes")
        if self.rate is not None and (self.rate % 1 or self.rate < 1):
            raise ValueError(f"rate: {self.rate} is not a whole number of messages per second")
        return self


class Sockperf(Workload[SockperfOptions]):
    """Request and response between two hosts: how long each message takes there and back.

    **Measures** `round_trip`, a histogram of the time from sending a message to receiving its answer, and
    `answers` per second; without answers (`mode: throughput`) the messages sent per second.

    **Source**: sockperf, https://github.com/Mellanox/sockperf, from its full log of messages; it leaves out
    400 ms at the start and 50 ms at the end. It stands for the request/response tests of XtreemOS D4.2.7,
    4.4.3, measured by netperf's TCP_RR and UDP_RR; sockperf's answers are as long as its requests (by TCP
    netbench has answers of another length).

    **How to read it.** sockperf itself prints half of the round trip and calls it latency; here it is all of
    it. Bins are 1/64 wide, and those of all copies and hosts add up before a percentile is taken.
    Under load a late answer does not delay the next message, so that waiting shows; in ping-pong it hides.
    Times count from sending: once a stalled server has let the socket's buffer fill up, what waits before it
    is not seen.
    In the mode throughput nobody says what arrived: by UDP some of it may be lost.
    """

    options = SockperfOptions
    needs = (SOCKPERF,)
    covers = ("XOS.10",)
    talks_to = frozenset({"sockperf"})
    examples = (
        {"duration": "1s"},
        {"mode": "under-load", "protocol": "udp", "duration": "1s", "rate": 5000, "reply_every": 5},
        {"mode": "throughput", "duration": "1s", "message": "1KiB", "buffer": "64KiB"},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """By mode."""
        if self.chosen.mode == "throughput":
            return (
                Metric("messages", "1/s", "higher", "messages sent per second"),
                Metric("sent_throughput", "B/s", "higher", "bytes sent per second"),
            )
        return (
            Metric("answers", "1/s", "higher", "answers received per second"),
            Metric("messages", "1/s", "higher", "messages sent per second"),
            Metric("dropped", "1", "lower", "messages whose answer never came"),
            *latency_metrics("round_trip", "time from sending a message to its answer"),
        )

    def command(self, place: Place) -> Command:
        """The client, and a fold of its log where it keeps one."""
        to = endpoint(place, self.chosen)
        if to is None:
            return fail_without_server("sockperf")
        argv = [self.chosen.mode, "--ip", to.address, "--port", str(to.port), *self._manner()]
        script = _RUN
        if self.chosen.mode != "throughput":
            argv += ["--full-log", "messages.csv"]
            script += _FOLD
        return Command(("sh", "-eu", "-c", script, "sh", *argv), {"OUT": str(place.raw)}, cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_sockperf_output`. Raises ParseFailure."""
        if self.chosen.mode == "throughput":
            return result.parse_throughput(output, int(self.chosen.message))
        return result.parse_round_trips(output)

    def closed_loop(self) -> str | None:
        """In ping-pong, also at a rate: what was due meanwhile counts from when it was sent."""
        return "take `mode: under-load`" if self.chosen.mode == "ping-pong" else None

    def seconds(self) -> float | None:
        """The time, and about 2.2 s that sockperf takes around it."""
        return self.chosen.duration + 2.2

    def disk(self) -> int:
        """The log: about 40 bytes a message, of which 100,000 a second are many."""
        logged = self.chosen.mode != "throughput"
        return int(40 * 100_000 * self.chosen.duration) if logged else 0

    def _manner(self) -> list[str]:
        chosen = self.chosen
        argv = ["--tcp"] if chosen.protocol == "tcp" else []
        argv += ["--msg-size", str(int(chosen.message)), "--time", str(int(chosen.duration))]
        argv += ["--mps", f"{chosen.rate:.0f}"] if chosen.rate else []
        argv += ["--burst", str(chosen.burst)] if chosen.burst > 1 else []
        argv += ["--buffer-size", str(int(chosen.buffer))] if chosen.buffer else []
        return argv + (["--reply-every", str(chosen.reply_every)] if chosen.mode == "under-load" else [])
