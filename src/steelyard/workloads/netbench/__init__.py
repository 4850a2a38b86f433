"""`use: netbench`: requests of one size, and answers of another."""

from __future__ import annotations

import json
from typing import Self

from pydantic import Field, model_validator

from steelyard.plugin import (
    NETBENCH,
    Command,
    Duration,
    Endpoint,
    Metric,
    Output,
    Place,
    Reading,
    Size,
    latency_metrics,
)
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.client import ClientOptions, endpoint, fail_with, fail_without_server
from steelyard.workloads.netbench import output as result

# The trace has a line when a request was sent, and one or more when parts of its answer were read. A
# transaction lasts until the next request is sent: a line's time is that when the client was last woken, so
# the time from sending to reading would be 0 where the answer was there already. The first is left out.
_RUN = r"""
printf '%s' "$SCENARIO" > scenario.json
"$@" > trace.txt 2> said.txt || { cat said.txt >&2; exit 1; }
awk -v request="$REQUEST" -v response="$RESPONSE" '
function us(text,   part) {
    split(text, part, ":")
    return int((part[1] * 60 + part[2]) * 6e7 + part[3] * 1e6 + 0.5)
}
function amount(text) { sub("^.*=", "", text); return text + 0 }
$3 ~ /^send\[/ {
    now = us($1)
    if (got == response) {
        if (warm++) { bins[now - begin]++; all++ } else first = now
        sent = got = 0
    }
    if (sent == 0) begin = now
    sent += amount($3)
}
$3 ~ /^recv\[/ {
    got += amount($3)
    if (sent != request || got > response || amount($3) == 0) { broken = NR; exit }
}
$3 ~ /^rfin\[/ { ended = 1; now = us($1) }
END {
    if (broken || !ended) { print "the trace has incomplete requests or answers at line " NR; exit 3 }
    printf "seconds %.6f\n", all ? (now - first) / 1e6 : 0
    for (bin in bins) printf "%.0f %d\n", bin, bins[bin]
    printf "all %d\n", all
}' trace.txt > "$OUT/round-trips.txt" || { cat "$OUT/round-trips.txt" >&2; exit 1; }
rm -f trace.txt
"""


class NetbenchOptions(ClientOptions):
    """What is asked, and what comes back."""

    port: int = Field(4433, ge=1, le=65535, description="The first port of `server`.")
    request: Size = Field(Size(1), ge=1, le=2**24, description="Size of a request, in bytes.")
    response: Size = Field(Size(1), ge=1, le=2**24, description="Size of its response, in bytes.")
    duration: Duration = Field(Duration(5), description="How long to send requests.")
    no_delay: bool = Field(True, description="Send small requests at once (TCP_NODELAY).")

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if not 0.1 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not from 0.1 to 86400 seconds")
        return self


class Netbench(Workload[NetbenchOptions]):
    """TCP transactions between two hosts: a request of one size, a response of another, one at a time.

    **Measures** `transactions` per second on one connection, and `round_trip`, a histogram of their
    durations: from sending a request until its response has arrived and the next can be sent.

    **Source**: s2n-netbench, https://github.com/aws/s2n-netbench, from its trace, which has microsecond
    resolution. It corresponds to netperf's TCP_RR in XtreemOS D4.2.7, 4.4.3, and accepts all its sizes (1/1,
    64/64, 100/200, 128/8192). It has no option for socket buffers; it uses the system's. For UDP, see
    sockperf.

    **How to read it.** The first transaction is excluded, because the client fills its memory then. Each
    transaction includes writing two trace lines, a few microseconds, which matter on the loopback but not on
    a network. A slow response delays the transactions that follow, so there are fewer of them; the last one,
    cut short by the end, counts as time but not as a transaction. Transactions of several copies add up; let
    the service start as many `servers`, or copies share a process. Each end uses 100 MB of memory.
    """

    Options = NetbenchOptions
    needs = (NETBENCH,)
    talks_to = frozenset({"netbench"})
    examples = (
        {"request": "100B", "response": "200B", "duration": "1s"},
        {"request": "128B", "response": "8KiB", "duration": "1s", "no_delay": False},
        {"duration": "500ms"},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """Rate and times."""
        about = "time of a transaction"
        return (
            Metric("transactions", "1/s", "higher", "requests answered per second"),
            Metric("round_trip_mean", "s", "lower", f"{about}: mean", over_copies="mean"),
            Metric("round_trip_min", "s", "lower", f"{about}: the shortest", over_copies="min"),
            Metric("round_trip_max", "s", "lower", f"{about}: the longest", over_copies="max"),
            *latency_metrics("round_trip", about),
        )

    def command(self, place: Place) -> Command:
        """The client, and a fold of its trace."""
        options, to = self.options, endpoint(place, self.options)
        if to is None:
            return fail_without_server("netbench")
        sizes = {"request": str(int(options.request)), "response": str(int(options.response))}
        if wrong := _mismatch(to, sizes):
            return fail_with(wrong)
        nagle = () if options.no_delay else ("--nagle",)
        argv = NETBENCH.argv("--trace", "stdio", *nagle, "scenario.json")
        env = {
            "OUT": str(place.raw),
            "SERVER_0": f"[{to.address}]:{to.port}" if ":" in to.address else f"{to.address}:{to.port}",
            "SCENARIO": json.dumps(self._scenario()),
            "REQUEST": sizes["request"],
            "RESPONSE": sizes["response"],
        }
        return Command(("sh", "-eu", "-c", _RUN, "sh", *argv), env, cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_netbench_output`. Raises ParseFailure."""
        return result.parse_transactions(output)

    def closed_loop_advice(self) -> str | None:
        """Always: it knows no rate."""
        return "use sockperf with `mode: under-load`"

    def seconds(self) -> float | None:
        """The time, and about a fifth more to fold the trace."""
        return self.options.duration * 1.2 + 0.2

    def disk(self) -> int:
        """The trace: about 60 bytes a transaction, of which 100,000 a second are many."""
        return int(60 * 100_000 * self.options.duration)

    def _scenario(self) -> dict[str, object]:
        """What the client does, in s2n-netbench's own terms. The server's part is its own affair."""
        ask = [
            {"send": {"stream_id": 0, "bytes": int(self.options.request)}},
            {"receive": {"stream_id": 0, "bytes": int(self.options.response)}},
        ]
        time = {"time": {"amount_ms": round(self.options.duration * 1000)}}
        ops = [
            {"open_bidirectional_stream": {"stream_id": 0}},
            *ask,
            {"iterate": {"value": time, "operations": ask}},
            {"receive_finish": {"stream_id": 0}},
        ]
        connect = {"server_id": 0, "server_connection_id": 0, "client_connection_id": 0}
        keys = {"private_key": 0, "certificate": 0, "certificate_authority": 0}
        return {
            "id": "request-response",
            "clients": [{"scenario": [{"connect": connect}], "connections": [{"ops": ops}]}],
            "servers": [{"connections": [{}], **keys}],
        }


def _mismatch(to: Endpoint, sizes: dict[str, str]) -> str:
    """A sentence where the service answers other sizes: both sides would wait for each other."""
    for name, size in sizes.items():
        if to.facts.get(name, size) != size:
            return (
                f"netbench's {name} is {size} bytes, but its service has {to.facts[name]}: set both to the "
                "same"
            )
    return ""
