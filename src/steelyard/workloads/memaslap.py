"""`use: memaslap`: how many gets and sets memcached serves, and how fast."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from steelyard.model.command import Command, Output, Place
from steelyard.model.metric import Metric, Reading
from steelyard.model.tool import Tool
from steelyard.units import Duration, Share, Size
from steelyard.workloads import _memaslap_output as result
from steelyard.workloads._client import ClientOptions, endpoint, fail_without_server
from steelyard.workloads.base import Workload

# Debian renames all of libmemcached's programs from mem… to memc….
MEMASLAP = Tool("memcaslap", apt="libmemcached-tools", dnf="libmemcached-awesome-tools")
_NEVER = "100000s"  # it tells its statistics only when it is asked for them now and then, too

_RUN = """
printf '%s' "$CONFIG" > memaslap.cnf
exec "$(command -v memcaslap || echo memaslap)" -F memaslap.cnf "$@"
"""


class MemaslapOptions(ClientOptions):
    """What is asked, how large it is, and how many ask at once."""

    port: int = Field(11211, ge=1, le=65535, description="The server's first port, with `server`.")
    get_share: Share = Field(
        Share(0.9), ge=0, le=1, description="Share of gets among the operations; the rest are sets."
    )
    key_size: int = Field(64, ge=16, le=250, description="Bytes of a key; memaslap needs 16 of them.")
    value_size: Size = Field(Size(1024), ge=1, le=2**20, description="Bytes of a value, at most 1 MiB.")
    threads: int = Field(1, ge=1, le=1000, description="Threads of the client.")
    concurrency: int = Field(
        16, ge=1, le=100_000, description="Connections that ask at the same time, a multiple of threads."
    )
    window: int = Field(
        1024,
        ge=1024,
        le=2**24,
        multiple_of=1024,
        description="Keys that each connection works on, a multiple of 1024; it sets all of them first.",
    )
    multi_get: int = Field(1, ge=1, le=1000, description="Keys that one get asks for.")
    duration: Duration = Field(Duration(10), description="How long to measure, in whole seconds.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.duration % 1 or not 1 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not a whole number of seconds from 1 to 86400")
        if self.concurrency % self.threads:
            raise ValueError(
                f"concurrency: {self.concurrency} is not a multiple of {self.threads}, the threads"
            )
        return self


class Memaslap(Workload[MemaslapOptions]):
    """Gets and sets to memcached by libmemcached's load generator.

    **Measures** `rate`, operations per second; `net_rate`, bytes per second in both directions; `latency`, a
    histogram, with its mean, standard deviation and maximum, and the means of gets and sets by themselves;
    and `misses`, the share of gets that found nothing.

    **Source**: memaslap(1), https://awesomized.github.io/libmemcached.

    **How to read it.** Its histogram has bins of a power of two, so a percentile says "at most this long" and
    may be twice too long; mean and maximum are exact to a microsecond. A connection waits for its answer
    before it asks again, and nothing paces it, for its own `--tps` has no effect in 1.0. The first sets,
    which fill each connection's window, count too: let it run for many times as long as they take. With
    `multi_get` the rate counts keys, and the latency is that of a request. What does not fit into the
    server's memory shows as misses. Copies are spread over the servers of a service; each asks one of them.
    """

    options = MemaslapOptions
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
        chosen, to = self.chosen, endpoint(place, self.chosen)
        if to is None:
            return fail_without_server("memaslap")
        words = ["-s", f"{to.address}:{to.port}", "-T", str(chosen.threads), "-c", str(chosen.concurrency)]
        words += [
            "-w",
            f"{chosen.window // 1024}k",
            "-d",
            str(chosen.multi_get),
            "-t",
            f"{int(chosen.duration)}s",
        ]
        words += ["-S", _NEVER]
        argv = ("sh", "-eu", "-c", _RUN, "sh", *words)
        return Command(argv, {"CONFIG": self._config()}, cwd=place.scratch)

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_memaslap_output`. Raises ParseFailure."""
        return result.parse_output(output, **self._kinds())

    def closed_loop(self) -> str | None:
        """Always: it keeps to no rate."""
        return "take ycsb with a `rate`"

    def seconds(self) -> float | None:
        """The time, and the end of what is under way."""
        return self.chosen.duration + 0.1

    def _kinds(self) -> dict[str, bool]:
        return {"gets": self.chosen.get_share > 0, "sets": self.chosen.get_share < 1}

    def _config(self) -> str:
        """Ranges of sizes with their share, and the commands 0 (set) and 1 (get) with theirs."""
        chosen, size = self.chosen, int(self.chosen.value_size)
        gets = float(chosen.get_share)
        key, value = f"key\n{chosen.key_size} {chosen.key_size} 1\n", f"value\n{size} {size} 1\n"
        return f"{key}{value}cmd\n0 {1 - gets:.6f}\n1 {gets:.6f}\n"
