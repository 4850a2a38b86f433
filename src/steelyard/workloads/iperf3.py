"""`use: iperf3`: how fast bytes get through the network."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.model.command import Command, Output, Place
from steelyard.model.metric import Metric, Reading, SeriesSample
from steelyard.model.tool import Tool
from steelyard.units import Duration, Rate, Size
from steelyard.workloads import _iperf3_output as result
from steelyard.workloads._client import ClientOptions, endpoint, fail_without_server
from steelyard.workloads.base import Workload

IPERF3 = Tool("iperf3", apt="iperf3", dnf="iperf3", at_least="3.7")
_LARGEST_DATAGRAM = 65507


class Iperf3Options(ClientOptions):
    """A connection's protocol, direction, sizes and pace."""

    port: int = Field(5201, ge=1, le=65535, description="The server's first port, with `server`.")
    protocol: Literal["tcp", "udp"] = Field("tcp", description="tcp or udp.")
    direction: Literal["send", "receive", "both"] = Field(
        "send", description="Who sends: the client, the server, or both at once (iperf3 3.7 and newer)."
    )
    streams: int = Field(1, ge=1, le=128, description="Connections at the same time.")
    duration: Duration = Field(Duration(10), description="How long to measure, in whole seconds.")
    omit: Duration = Field(Duration(0), description="How long to send before that, in whole seconds.")
    message: Size | None = Field(
        None,
        description="Bytes handed to one send() or recv(), or in one datagram. Default: 128 KiB by tcp, by "
        "udp what the path takes.",
    )
    buffer: Size | None = Field(
        None,
        description="Socket buffer asked for on both sides, in bytes. Linux doubles it; the record has what "
        "was granted. Default: the system's, which tcp adapts.",
    )
    rate: Rate | None = Field(
        None, description="Target of each stream, in bytes per second (`100 Mbit/s`). Default: no limit."
    )
    no_delay: bool = Field(False, description="Send small tcp messages at once (TCP_NODELAY).")
    congestion: str | None = Field(
        None, pattern=r"^[a-z0-9_-]+$", description="Congestion control of tcp, such as cubic or bbr."
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for name, value, least in (("duration", self.duration, 1), ("omit", self.omit, 0)):
            if value % 1 or not least <= value <= 86400:
                raise ValueError(f"{name}: {value} is not a whole number of seconds from {least} to 86400")
        if self.protocol == "udp" and self.message and not 16 <= self.message <= _LARGEST_DATAGRAM:
            raise ValueError(f"message: a datagram holds 16 to {_LARGEST_DATAGRAM} bytes")
        if self.protocol == "udp" and (self.no_delay or self.congestion):
            raise ValueError("no_delay and congestion are of tcp, and protocol is udp")
        return self


class Iperf3(Workload[Iperf3Options]):
    """Network throughput between hosts, by TCP or UDP.

    **Measures** `throughput` as the receiver saw it, after what got lost; by TCP also retransmitted segments
    and (where the client sends) the kernel's smoothed round-trip time, by UDP jitter and the share of lost
    datagrams; and the CPU time of both programs.

    **Source**: iperf3, https://github.com/esnet/iperf, from its JSON. With `message` and `buffer` it covers
    the streams of XtreemOS D4.2.7, 4.4.3, which were measured by netperf's TCP_STREAM and UDP_STREAM.

    **How to read it.** One server process serves one client at a time: let a service start as many as there
    are copies (`servers`), or a busy server fails the trial. Over copies throughput and retransmits add up. A
    server on the same machine measures memory, not a network. A small `message` measures system calls.
    """

    options = Iperf3Options
    needs = (IPERF3,)
    covers = ("XOS.10",)
    talks_to = frozenset({"iperf3"})
    examples = (
        {"duration": "1s", "streams": 2, "message": "16KiB", "buffer": "32KiB"},
        {"duration": "1s", "direction": "both"},
        {"duration": "1s", "protocol": "udp", "rate": "8 Mbit/s", "message": "1KiB"},
        {"duration": "1s", "direction": "receive", "rate": "80 Mbit/s", "no_delay": True},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """By protocol and direction."""
        return result.metrics(self.chosen.protocol, self.chosen.direction)

    def command(self, place: Place) -> Command:
        """The client; it is told its own address, so that it uses the host's network of the experiment."""
        chosen, to = self.chosen, endpoint(place, self.chosen)
        if to is None:
            return fail_without_server("iperf3")
        argv = ["iperf3", "--json", "--client", to.address, "--port", str(to.port)]
        argv += ["--parallel", str(chosen.streams), "--time", str(int(chosen.duration))]
        if place.to is not None:
            argv += ["--bind", place.address]
        return Command((*argv, *self._sizes(), *self._manner()))

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_iperf3_output`. Raises ParseFailure."""
        return result.parse_output(output.stdout, self.chosen.protocol, self.chosen.direction)

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """Throughput over time. Raises ParseFailure."""
        return result.parse_series(output.stdout, output.exit.started)

    def seconds(self) -> float | None:
        """Both times, and the greeting."""
        return self.chosen.duration + self.chosen.omit + 0.2

    def _sizes(self) -> list[str]:
        chosen = self.chosen
        sizes = (("--length", chosen.message), ("--window", chosen.buffer))
        return [word for name, size in sizes if size for word in (name, str(int(size)))]

    def _manner(self) -> list[str]:
        chosen = self.chosen
        ways = {"send": [], "receive": ["--reverse"], "both": ["--bidir"]}
        argv: list[str] = ["--udp"] if chosen.protocol == "udp" else []
        argv += [*ways[chosen.direction], "--bitrate", str(round((chosen.rate or 0) * 8))]
        argv += ["--omit", str(int(chosen.omit))] if chosen.omit else []
        argv += ["--no-delay"] if chosen.no_delay else []
        return argv + (["--congestion", chosen.congestion] if chosen.congestion else [])
