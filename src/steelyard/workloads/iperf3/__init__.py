"""`use: iperf3`: how fast bytes get through the network."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import Command, Duration, Metric, Output, Place, Rate, Reading, SeriesSample, Size, Tool
from steelyard.plugin.workload import Workload
from steelyard.workloads.iperf3 import output as result
from steelyard.workloads.kit.client import ClientOptions, endpoint, fail_without_server

IPERF3 = Tool("iperf3", apt="iperf3", dnf="iperf3", at_least="3.7")
_LARGEST_DATAGRAM = 65507


class Iperf3Options(ClientOptions):
    """A connection's protocol, direction, sizes and pace."""

    port: int = Field(5201, ge=1, le=65535, description="The first port of `server`.")
    protocol: Literal["tcp", "udp"] = Field("tcp", description="tcp or udp.")
    direction: Literal["send", "receive", "both"] = Field(
        "send", description="Who sends: the client, the server, or both at once (iperf3 3.7 and newer)."
    )
    streams: int = Field(1, ge=1, le=128, description="Number of simultaneous connections.")
    duration: Duration = Field(Duration(10), description="How long to measure, in whole seconds.")
    omit: Duration = Field(Duration(0), description="Warm-up time before measuring, in whole seconds.")
    message: Size | None = Field(
        None,
        description="Bytes per send() or recv(), or per datagram. Default: 128 KiB with tcp; with "
        "udp, what fits the path.",
    )
    buffer: Size | None = Field(
        None,
        description="Socket buffer requested on both sides, in bytes. Linux doubles it; the record has what "
        "was granted. Default: the system's, which tcp adapts.",
    )
    rate: Rate | None = Field(
        None, description="Target of each stream, in bytes per second (`100 Mbit/s`). Default: no limit."
    )
    no_delay: bool = Field(False, description="Send small tcp messages at once (TCP_NODELAY).")
    congestion: str | None = Field(
        None, pattern=r"^[a-z0-9_-]+$", description="TCP congestion control, such as cubic or bbr."
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        for name, value, least in (("duration", self.duration, 1), ("omit", self.omit, 0)):
            if value % 1 or not least <= value <= 86400:
                raise ValueError(f"{name}: {value} is not a whole number of seconds from {least} to 86400")
        if self.protocol == "udp" and self.message and not 16 <= self.message <= _LARGEST_DATAGRAM:
            raise ValueError(f"message: a datagram holds 16 to {_LARGEST_DATAGRAM} bytes")
        if self.protocol == "udp" and (self.no_delay or self.congestion):
            raise ValueError("no_delay and congestion apply only to tcp, but protocol is udp")
        return self


class Iperf3(Workload[Iperf3Options]):
    """Network throughput between hosts, by TCP or UDP.

    **Measures** `throughput` at the receiver, after losses; for TCP also retransmitted segments and (if the
    client sends) the kernel's smoothed round-trip time; for UDP jitter and the share of lost datagrams; and
    the CPU time of both programs.

    **Source**: iperf3, https://github.com/esnet/iperf, from its JSON. With `message` and `buffer` it covers
    the streams of XtreemOS D4.2.7, 4.4.3, which were measured by netperf's TCP_STREAM and UDP_STREAM.

    **How to read it.** A server process serves one client at a time: start one per copy (`servers` of the
    service), or a busy server fails the trial. Throughput and retransmits add up over copies. A server on the
    same machine measures memory, not a network. A small `message` measures system calls.
    """

    Options = Iperf3Options
    needs = (IPERF3,)
    talks_to = frozenset({"iperf3"})
    examples = (
        {"duration": "1s", "streams": 2, "message": "16KiB", "buffer": "32KiB"},
        {"duration": "1s", "direction": "both"},
        {"duration": "1s", "protocol": "udp", "rate": "8 Mbit/s", "message": "1KiB"},
        {"duration": "1s", "direction": "receive", "rate": "80 Mbit/s", "no_delay": True},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """By protocol and direction."""
        return result.metrics(self.options.protocol, self.options.direction)

    def command(self, place: Place) -> Command:
        """The client; it is told its own address, so that it uses the host's network of the experiment."""
        options, to = self.options, endpoint(place, self.options)
        if to is None:
            return fail_without_server("iperf3")
        argv = ["iperf3", "--json", "--client", to.address, "--port", str(to.port)]
        argv += ["--parallel", str(options.streams), "--time", str(int(options.duration))]
        if place.to is not None:
            argv += ["--bind", place.address]
        return Command((*argv, *self._sizes(), *self._mode_arguments()))

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_iperf3_output`. Raises ParseFailure."""
        return result.parse_output(output.stdout, self.options.protocol, self.options.direction)

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """Throughput over time. Raises ParseFailure."""
        return result.parse_series(output.stdout, output.exit.started)

    def seconds(self) -> float | None:
        """Both times, and the greeting."""
        return self.options.duration + self.options.omit + 0.2

    def _sizes(self) -> list[str]:
        options = self.options
        sizes = (("--length", options.message), ("--window", options.buffer))
        return [word for name, size in sizes if size for word in (name, str(int(size)))]

    def _mode_arguments(self) -> list[str]:
        options = self.options
        ways = {"send": [], "receive": ["--reverse"], "both": ["--bidir"]}
        argv: list[str] = ["--udp"] if options.protocol == "udp" else []
        argv += [*ways[options.direction], "--bitrate", str(round((options.rate or 0) * 8))]
        argv += ["--omit", str(int(options.omit))] if options.omit else []
        argv += ["--no-delay"] if options.no_delay else []
        return argv + (["--congestion", options.congestion] if options.congestion else [])
