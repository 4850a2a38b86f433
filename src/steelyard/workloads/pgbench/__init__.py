"""`use: pgbench`: how many transactions PostgreSQL carries out, and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import (
    Command,
    Duration,
    Endpoint,
    Frequency,
    Metric,
    Output,
    Phase,
    Place,
    Reading,
    SeriesSample,
    Tool,
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
from steelyard.workloads.pgbench import output as result

PGBENCH = Tool("pgbench", apt="postgresql", dnf="postgresql-contrib", at_least="15")
_PSQL = Tool("psql", apt="postgresql-client", dnf="postgresql")
_SEEDS = 2**31
_NAME = r"^[A-Za-z_][A-Za-z0-9_$-]*$"

# Copies on replicas must find what the first copy has made on the primary.
_INITIALISE = """
pgbench --initialize --quiet "$@"
[ -n "$AWAIT" ] || exit 0
ask() { psql --no-psqlrc --no-align --tuples-only --command "$1"; }
made=$(ask 'select pg_current_wal_lsn()'); turns=0
until [ "$(ask "select count(*) from pg_stat_replication where replay_lsn < '$made'")" = 0 ]; do
    turns=$((turns + 1))
    [ $turns -lt 600 ] || { echo "replicas did not catch up with the primary within a minute" >&2; exit 1; }
    sleep 0.1
done
"""
_RUN = f"""
pgbench --no-vacuum --progress={result.EVERY} --progress-timestamp --log --log-prefix=transactions "$@"
{result.FOLD}"""


class PgbenchOptions(ClientOptions):
    """How large the tables are, what a transaction does, and how many run at once."""

    port: int = Field(5432, ge=1, le=65535, description="The first port of `server`.")
    user: str = Field("postgres", pattern=_NAME, description="User to log in as, with `server`.")
    database: str = Field(
        "postgres", pattern=_NAME, description="Database in which to create the tables, with `server`."
    )
    mode: Literal["tpcb-like", "simple-update", "select-only"] = Field(
        "tpcb-like",
        description="tpcb-like: three updates, a query and an insert; simple-update: without the two updates "
        "that contend; select-only: one query.",
    )
    scale: int = Field(
        1, ge=1, le=1_000_000, description="Scale factor of the tables: each unit is 100,000 accounts, 15 MB."
    )
    clients: int = Field(1, ge=1, le=10_000, description="Number of simultaneous connections.")
    threads: int = Field(1, ge=1, le=1000, description="Client threads, at most as many as clients.")
    duration: Duration = Field(Duration(10), description="How long to measure, in whole seconds.")
    rate: Annotated[Frequency, Field(gt=0, le=1e9)] | None = Field(
        None, description="Target transactions per second (`500/s` or 500). Default: as fast as possible."
    )
    protocol: Literal["simple", "extended", "prepared"] = Field(
        "simple", description="Query protocol: simple, extended or prepared."
    )
    spread: bool = Field(
        False,
        description=(
            "With select-only: copies use all servers in turn, including replicas, not only the primary."
        ),
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.duration % 1 or not 1 <= self.duration <= 86400:
            raise ValueError(f"duration: {self.duration} is not a whole number of seconds from 1 to 86400")
        if self.threads > self.clients:
            raise ValueError(f"threads: {self.threads} exceeds clients, {self.clients}")
        if self.spread and self.mode != "select-only":
            raise ValueError("spread: replicas are read-only; use `mode: select-only`")
        return self


class Pgbench(Workload[PgbenchOptions]):
    """Transactions in PostgreSQL by its own benchmark; the default is loosely based on TPC-B.

    **Measures** `tps`; `latency`, a histogram of how long each transaction took, with its mean and standard
    deviation; `failed_transactions`; and `connection_time`.

    **Source**: pgbench, https://www.postgresql.org/docs/current/pgbench.html, from its output and its log of
    every transaction, which the client's host summarises in bins 1/64 wide.

    **How to read it.** The first copy recreates the tables before each trial; tables of the same name in the
    database of a `server:` are lost. If `scale` is smaller than clients, tpcb-like measures waiting for the
    same rows. Each client starts a transaction as soon as the last one ends; with a `rate`, the latency
    counts from a transaction's scheduled start, and is listed first. Rates of copies add up. The same seed
    gives the same random choices. For a `server:` the password is the client's variable PGPASSWORD or its
    ~/.pgpass.
    """

    Options = PgbenchOptions
    needs = (PGBENCH, _PSQL)
    talks_to = frozenset({"postgresql"})
    examples = (
        {"duration": "1s", "clients": 2, "threads": 2},
        {"duration": "1s", "mode": "select-only", "protocol": "prepared", "rate": 200},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """With a rate the latency comes first."""
        return result.metrics(paced=self.options.rate is not None)

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Make the tables, by the first copy; then measure."""
        to = self._server(place)
        if to is None:
            nothing = fail_without_server("pgbench")
            return (Phase("initialise", nothing, measured=False), Phase("run", nothing))
        run = ("sh", "-eu", "-c", BELIEVE + _RUN, "sh", *self._words(place))
        return (
            Phase("initialise", self._initialise(place), measured=False),
            Phase("run", self._command(run, to, place, OUT=str(place.raw))),
        )

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_pgbench_output`. Raises ParseFailure."""
        return result.parse_output(output)

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """What each second brought."""
        return result.parse_series(output.stderr)

    def feed(self, phase: str, stream: str, line: str) -> Mapping[str, float]:
        """What the second brought that a line of progress ends."""
        samples = result.parse_series(line) if stream == "stderr" else ()
        return samples[0].values if samples else {}

    def closed_loop_advice(self) -> str | None:
        """Unless they are due at a rate."""
        return None if self.options.rate else "give `rate`"

    def seconds(self) -> float | None:
        """The time, and about a tenth of a second for each scale to make the tables."""
        return self.options.duration + 0.3 + 0.1 * self.options.scale

    def disk(self) -> int:
        """The log: about 40 bytes a transaction, of which 20,000 a second are many."""
        return int(40 * 20_000 * self.options.duration)

    def _initialise(self, place: Place) -> Command:
        first = place.to if place.to is not None else endpoint(place, self.options)
        if place.copy or first is None:
            return Command(("true",))
        argv = ("sh", "-eu", "-c", BELIEVE + _INITIALISE, "sh", f"--scale={self.options.scale}")
        return self._command(argv, first, place, AWAIT="replicas" if self.options.spread else "")

    def _server(self, place: Place) -> Endpoint | None:
        """The primary, unless copies may read from replicas."""
        return endpoint(place, self.options) if self.options.spread or place.to is None else place.to

    def _command(self, argv: tuple[str, ...], to: Endpoint, place: Place, **env: str) -> Command:
        """With the variables of libpq, by which pgbench and psql find the server alike."""
        where = {
            "PGHOST": to.address,
            "PGPORT": str(to.port),
            "PGUSER": to.facts.get("user", self.options.user),
            "PGDATABASE": to.facts.get("database", self.options.database),
            "PGCONNECT_TIMEOUT": "15",
        }
        believed = {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": AUTHORITY, "PGSSLCERT": "none"}
        tls = believed if to.authority else {}
        secrets = {"PGPASSWORD": to.password} if to.password else {}
        variables = {**where, **tls, **authority_variables(to), **env}
        return Command(argv, variables, cwd=place.scratch, secrets=secrets)

    def _words(self, place: Place) -> list[str]:
        options = self.options
        words = [f"--builtin={options.mode}", f"--client={options.clients}", f"--jobs={options.threads}"]
        words += [f"--time={int(options.duration)}", f"--protocol={options.protocol}"]
        words += [f"--rate={options.rate:g}"] if options.rate else []
        return [*words, f"--random-seed={(place.seed + place.copy) % _SEEDS}"]
