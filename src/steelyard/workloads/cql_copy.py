"""`use: cql_copy`: how fast a CSV file gets into a table of Cassandra."""

from __future__ import annotations

from steelyard.model.command import Output, Phase, Place
from steelyard.model.metric import Metric, Reading, SeriesSample
from steelyard.workloads import _cql_copy_output as result
from steelyard.workloads._cql_copy_command import CQLSH, copy, generate, schema
from steelyard.workloads._cql_copy_options import CqlCopyOptions
from steelyard.workloads.base import Workload

_ROW = 40  # bytes in the file, at most
_GUESS = 30_000.0  # rows per second, for a first estimate
_START = 1.5  # seconds that cqlsh takes to connect, twice


class CqlCopy(Workload[CqlCopyOptions]):
    """cqlsh's COPY FROM: rows of a CSV file go into a table, by processes of Python on the client's host.

    **Measures** `copy_time`, `ingest_rate` (rows by that time), `rows`, and what went wrong: `lost_rows`,
    which were given up or skipped, and `retried_rows`. More lost rows than `may_fail` fail the trial.

    **Source**: cqlsh of Apache Cassandra, https://cassandra.apache.org/doc/5.0, from what it prints. The
    table of brain cells (x, y, val) with three columns of numbers is that of a thesis on Cassandra in HPC
    (2018), which copies such files of 10 to 40 GB at the default and at twice the `ingest_rate`, and finds
    that to be the limit.

    **How to read it.** Time goes to Python: a process converts some 50,000 rows a second, and cqlsh starts
    one process less than the host has cores. Where clients share cores with the ring, both are the limit.
    `ingest_rate` bounds what is sent, second by second. The time is cqlsh's own: it begins when cqlsh is
    connected, and ends, to a tenth of a second, when its processes have ended; most of its first second is
    their start, so copy many rows. cqlsh hands each process 24 chunks ahead, then pauses for a second or two:
    with small chunks they are done before it is back. A row counts once `consistency` replicas have it. What
    fails is tried five times.

    Keyspace and table are made where they are missing, and emptied by the first copy before each trial.
    Several copies share the `rows`; each reads the whole `file` that it finds on its host. They ask the nodes
    in turn how the ring is made; rows always go straight to a node that keeps them.
    """

    options = CqlCopyOptions
    needs = (CQLSH,)
    talks_to = frozenset({"cassandra", "scylladb"})
    examples = (
        {"rows": 1000, "replication": 1},
        {
            "rows": 20_000,
            "ingest_rate": 200_000,
            "processes": 2,
            "chunk_size": 1000,
            "max_batch_size": 10,
            "consistency": "LOCAL_QUORUM",
            "keyspace": "brain",
            "table": "cells",
        },
    )

    def metrics(self) -> tuple[Metric, ...]:
        """Always the same."""
        return result.METRICS

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Write the rows, make an empty table, copy; only the last is measured."""
        chosen = self.chosen
        rows = [Phase("generate", generate(place, chosen), measured=False)] if chosen.rows is not None else []
        return (
            *rows,
            Phase("schema", schema(place, chosen), measured=False),
            Phase("copy", copy(place, chosen)),
        )

    def parse(self, phase: str, output: Output) -> Reading:
        """See `_cql_copy_output`. Raises ParseFailure."""
        return result.parse_output(output, self.chosen.may_fail)

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """The ingest rate over time, by cqlsh's own progress, which counts whole chunks."""
        return result.parse_series(output)

    def disk(self) -> int:
        """The file of rows that are made up."""
        return _ROW * (self.chosen.rows or 0)

    def seconds(self) -> float | None:
        """A guess, bounded by the ingest rate; unknown for a file."""
        if self.chosen.rows is None:
            return None
        asked = self.chosen.ingest_rate
        rate = _GUESS if asked == "default" else min(_GUESS, asked)
        return 2 * _START + self.chosen.rows / rate
