"""`use: memaslap`: how many gets and sets memcached serves, and how fast."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from steelyard.plugin import Command, Duration, Metric, Output, Place, Reading, Share, Size, Tool
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.client import ClientOptions, endpoint, fail_without_server
from steelyard.workloads.memaslap import output as result

# Debian renames all of libmemcached's programs from mem… to memc….
MEMASLAP = Tool("memcaslap", apt="libmemcached-tools", dnf="libmemcached-awesome-tools")
_NEVER = "100000s"  # it tells its statistics only when it is asked for them now and then, too

_RUN = """
printf '%s' "$CONFIG" > memaslap.cnf
exec "$(command -v memcaslap || echo memaslap)" -F memaslap.cnf "$@"
"""


class MemaslapOptions(ClientOptions):
    """What is asked, how large it is, and how many ask at once."""

    port: int = Field(11211, ge=1, le=65535, description="The first port of `server`.")
    get_share: Share = Field(
        Share(0.9), ge=0, le=1, description="Share of gets among the operations; the rest are sets."
    )
    key_size: int = Field(
        64, ge=16, le=250, description="Size of a key, in bytes; memaslap needs at least 16."
    )
    value_size: Size = Field(Size(1024), ge=1, le=2**20, description="Bytes of a value, at most 1 MiB.")
    threads: int = Field(1, ge=1, le=1000, description="Client threads.")
    concurrency: int = Field(
        16, ge=1, le=100_000, description="Simultaneous connections, a multiple of threads."
    )
    window: int = Field(
        1024,
        ge=1024,
        le=2**24,
        multiple_of=1024,
        description="Keys that each connection uses, a multiple of 1024; it first sets all of them.",
    )
    multi_get: int = Field(1, ge=1, le=1000, description="Keys per get request.")
    duration: Duration = Field(Duration(10), description="How long to measure, in whole seconds.")

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.duration % 1 or not 1 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not a whole number of seconds from 1 to 86400")
        if self.concurrency % self.threads:
            raise ValueError(
                f"concurrency: {self.concurrency} is not a multiple of {self.threads}, the threads"
            )
        return self


class Memaslap(Workload[MemaslapOptions]):
    """Gets and sets sent to memcached by libmemcached's load generator.

    **Measures** `rate`, operations per second; `net_rate`, bytes per second in both directions; `latency`, a
    histogram, with its mean, standard deviation and maximum, and the separate means of gets and sets; and
    `misses`, the share of gets that found nothing.

    **Source**: memaslap(1), https://awesomized.github.io/libmemcached.

    **How to read it.** Its histogram has power-of-two bins, so a percentile means "at most this long" and may
    be up to twice the true value; mean and maximum are exact to a microsecond. Each connection waits for its
    answer before the next request, without pacing, because memaslap's `--tps` has no effect in 1.0. The first
    sets, which fill each connection's window, also count: let it run many times longer than they take. With
    `multi_get` the rate counts keys, and the latency is that of a request. Data that exceeds the server's
    memory shows as misses. Copies are spread over the servers of a service; each uses one of them.
    """

    Options = MemaslapOptions
    needs = (MEMASLAP,)
    talks_to = frozenset({"memcached"})
    examples = (
        {"duration": "1s", "concurrency": 4},
        {"duration": "1s", "get_share": "0%", "concurrency": 2, "threads": 2, "value_size": "100B"},
        {"duration": "1s", "get_share": "100%", "concurrency": 2, "multi_get": 4},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """By what it asks."""
        return result.metrics(**self._kinds())

    def command(self, place: Place) -> Command:
        """The client, which takes sizes and shares from a file."""
        options, to = self.options, endpoint(place, self.options)
        if to is None:
            return fail_without_server("memaslap")
        words = ["-s", f"{to.address}:{to.port}", "-T", str(options.threads), "-c", str(options.concurrency)]
        words += [
            "-w",
            f"{options.window // 1024}k",
            "-d",
            str(options.multi_get),
            "-t",
            f"{int(options.duration)}s",
        ]
        words += ["-S", _NEVER]
        argv = ("sh", "-eu", "-c", _RUN, "sh", *words)
        return Command(argv, {"CONFIG": self._config()}, cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_memaslap_output`. Raises ParseFailure."""
        return result.parse_output(output, **self._kinds())

    def closed_loop_advice(self) -> str | None:
        """Always: it keeps to no rate."""
        return "use ycsb with a `rate`"

    def seconds(self) -> float | None:
        """The time, and the end of what is under way."""
        return self.options.duration + 0.1

    def _kinds(self) -> dict[str, bool]:
        return {"gets": self.options.get_share > 0, "sets": self.options.get_share < 1}

    def _config(self) -> str:
        """Ranges of sizes with their share, and the commands 0 (set) and 1 (get) with theirs."""
        options, size = self.options, int(self.options.value_size)
        gets = float(options.get_share)
        key, value = f"key\n{options.key_size} {options.key_size} 1\n", f"value\n{size} {size} 1\n"
        return f"{key}{value}cmd\n0 {1 - gets:.6f}\n1 {gets:.6f}\n"
