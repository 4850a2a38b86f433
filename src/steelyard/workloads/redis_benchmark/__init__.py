"""`use: redis_benchmark`: how many requests Redis answers, and how fast."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from steelyard.plugin import (
    Command,
    Endpoint,
    Metric,
    Output,
    Phase,
    Place,
    Reading,
    Size,
    Tool,
    derive_password,
)
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.client import (
    AUTHORITY,
    BELIEVE,
    ClientOptions,
    authority_variables,
    endpoint,
    fail_without_server,
)
from steelyard.workloads.redis_benchmark import output as result

REDIS_BENCHMARK = Tool("redis-benchmark", apt="redis-tools", dnf="redis", at_least="7.0")
_CLI = Tool("redis-cli", apt="redis-tools", dnf="redis")

Test = Literal[
    "ping_inline",
    "ping_mbulk",
    "set",
    "get",
    "incr",
    "lpush",
    "rpush",
    "lpop",
    "rpop",
    "sadd",
    "hset",
    "spop",
    "zadd",
    "zpopmin",
    "lrange_100",
    "lrange_300",
    "lrange_500",
    "lrange_600",
    "mset",
    "xadd",
]

# redis-benchmark waits for ever for a server that is not there; redis-cli says what is wrong.
_PREPARE = """
ask() { redis-cli --no-auth-warning ${TLS-} -h "$1" -p "$2" "$3" 2>&1 || true; }
must() {
    said=$(ask "$1" "$2" "$3")
    [ "$said" = "$4" ] || { echo "Redis at $1:$2 answered $3 with: $said" >&2; exit 1; }
}
must "$HOST" "$PORT" ping PONG
for server in $EMPTY; do must "${server%:*}" "${server##*:}" flushall OK; done
"""
# It takes its password from nowhere else. Expanded here, it is in no record.
_RUN = 'exec redis-benchmark ${REDISCLI_AUTH:+-a "$REDISCLI_AUTH"} "$@"'
_TLS = ("--tls", "--cacert", AUTHORITY)


def _check_tests(value: tuple[Test, ...]) -> tuple[Test, ...]:
    if not value or len(set(value)) != len(value):
        raise ValueError("give at least one test, each only once: [set, get]")
    return value


class RedisBenchmarkOptions(ClientOptions):
    """Which requests, how many, how large, and how many at once."""

    port: int = Field(6379, ge=1, le=65535, description="The first port of `server`.")
    tests: Annotated[tuple[Test, ...], AfterValidator(_check_tests)] = Field(
        ("set", "get"), description="Kinds of requests, which always run in redis-benchmark's own order."
    )
    requests: int = Field(100_000, ge=1, le=10**10, description="Requests of each kind.")
    clients: int = Field(50, ge=1, le=100_000, description="Number of simultaneous connections.")
    pipeline: int = Field(
        1, ge=1, le=100_000, description="Requests sent before waiting for the first answer."
    )
    data_size: Size = Field(Size(3), description="Size of a value, in bytes, at most 1 GiB.", ge=1, le=2**30)
    keyspace: int | None = Field(
        100_000, ge=1, le=10**12, description="Number of keys to draw from; null: a single key."
    )
    threads: int = Field(1, ge=1, le=500, description="Client threads.")
    cluster: bool | None = Field(
        None, description="Send each request to the node that has its key. Default: the service's setting."
    )


class RedisBenchmark(Workload[RedisBenchmarkOptions]):
    """Requests sent to Redis by its own benchmark.

    **Measures**, for each of the `tests`, its `rate` and `latency` as a histogram with percentiles, mean and
    maximum: `set_rate`, `set_latency_p99`.

    **Source**: redis-benchmark, https://redis.io/docs/management/optimization/benchmarks, from its
    human-readable report, which has the distributions that its CSV output lacks.

    **How to read it.** Each connection waits for an answer before it sends the next request: when the server
    stalls, so does the client, and few requests see the stall. With `pipeline` the latency is that of the
    entire batch. p50, p95 and p99 of one copy are exact; those of several come from the merged histograms,
    whose bins grow from 0.1 to 1 ms between the printed points. With `threads` it checks for its end only
    every quarter of a second: run enough requests for many seconds, or the rate is coarse. Keys are drawn
    anew each time, without a seed. A service's data are emptied before each trial, those of a `server:`
    never; `get` finds only what an earlier `set` wrote. Copies are spread over independent servers; with
    replicas, all go to the primary. It accepts a password only on its command line, which other users of the
    client's host can see while it runs; the password is never recorded. With a service, it is the password of
    a role that can send only the requests of these tests: anyone who reads it can disturb the measurement and
    read what the benchmark wrote. For a `server:` it is the client's variable REDISCLI_AUTH.
    """

    Options = RedisBenchmarkOptions
    needs = (REDIS_BENCHMARK, _CLI)
    talks_to = frozenset({"redis"})
    examples = (
        {"requests": 5000, "clients": 10},
        {"tests": ["mset", "lrange_100"], "requests": 2000, "clients": 5, "pipeline": 4, "data_size": "100B"},
        {"tests": ["ping_inline"], "requests": 5000, "threads": 2, "keyspace": None},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """For each test the same."""
        return tuple(metric for test in self.options.tests for metric in result.metrics(test))

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Look whether the server answers, and empty it; then measure."""
        to = self._server(place)
        if to is None:
            nothing = fail_without_server("redis_benchmark")
            return (Phase("prepare", nothing, measured=False), Phase("run", nothing))
        believed, tls = authority_variables(to), _TLS if to.authority else ()
        asked = {"HOST": to.address, "PORT": str(to.port), "EMPTY": _servers_to_empty(place)}
        asked |= {"TLS": " ".join(tls), **believed} if tls else {}
        prepare = Command(("sh", "-eu", "-c", BELIEVE + _PREPARE), asked, secrets=_secrets(to.password))
        role = to.facts.get("benchmark_role", "")
        visible = derive_password(role, to.password) if to.password and role else to.password
        words = [*tls, *(["--user", role] if role else []), *self._words(to)]
        run = Command(("sh", "-eu", "-c", BELIEVE + _RUN, "sh", *words), believed, secrets=_secrets(visible))
        return (Phase("prepare", prepare, measured=False), Phase("run", run))

    def parse(self, phase: str, output: Output) -> Reading:
        """See `redis_benchmark.output`. Raises ParseFailure."""
        return result.parse_output(output.stdout, self.options.tests, self.options.requests)

    def closed_loop_advice(self) -> str | None:
        """Always: it knows no rate."""
        return "use ycsb with a `rate`"

    def seconds(self) -> float | None:
        """At about 50,000 requests a second without a pipeline, which is a guess."""
        return 0.2 + len(self.options.tests) * self.options.requests / 50_000

    def _server(self, place: Place) -> Endpoint | None:
        replicated = place.to is not None and place.to.facts.get("arrangement") == "replicas"
        return place.to if replicated else endpoint(place, self.options)

    def _words(self, to: Endpoint) -> list[str]:
        options = self.options
        words = ["-h", to.address, "-p", str(to.port), "-t", ",".join(options.tests), "--precision", "3"]
        words += ["-n", str(options.requests), "-c", str(options.clients), "-P", str(options.pipeline)]
        words += ["-d", str(int(options.data_size))]
        words += ["-r", str(options.keyspace)] if options.keyspace else []
        words += ["--threads", str(options.threads)] if options.threads > 1 else []
        in_cluster = to.facts.get("arrangement") == "cluster" if options.cluster is None else options.cluster
        return words + (["--cluster"] if in_cluster else [])


def _secrets(password: str | None) -> dict[str, str]:
    return {"REDISCLI_AUTH": password} if password else {}


def _servers_to_empty(place: Place) -> str:
    """The servers that the first copy empties: those of a service that take writes."""
    if place.to is None or place.copy:
        return ""
    first = f"{place.to.address}:{place.to.port}"
    replicated = place.to.facts.get("arrangement") == "replicas"
    return first if replicated else place.to.facts.get("servers", first).replace(",", " ")
