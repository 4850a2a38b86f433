"""`use: cql_copy`: how fast a CSV file gets into a table of Cassandra."""

from __future__ import annotations

from steelyard.plugin import Metric, Output, Phase, Place, Reading, SeriesSample
from steelyard.plugin.workload import Workload
from steelyard.workloads.cql_copy import output as result
from steelyard.workloads.cql_copy.command import CQLSH, copy, generate, schema
from steelyard.workloads.cql_copy.options import CqlCopyOptions

_ROW = 40  # bytes in the file, at most
_GUESS = 30_000.0  # rows per second, for a first estimate
_START = 1.5  # seconds that cqlsh takes to connect, twice


class CqlCopy(Workload[CqlCopyOptions]):
    """cqlsh's COPY FROM: Python processes on the client's host load the rows of a CSV file into a table.

    **Measures** `copy_time`, `ingest_rate` (rows by that time), `rows`, and failures: `lost_rows`, which were
    abandoned or skipped, and `retried_rows`. The trial fails if more rows are lost than `may_fail`.

    **Source**: cqlsh of Apache Cassandra, https://cassandra.apache.org/doc/5.0, from its output. The table of
    brain cells (x, y, val) with three numeric columns is from a thesis on Cassandra in HPC (2018), which
    copies such files of 10 to 40 GB at the default and at twice the `ingest_rate`, and finds that to be the
    limit.

    **How to read it.** Python takes most of the time: a process converts some 50,000 rows a second, and cqlsh
    starts one process fewer than the host has cores. If clients share cores with the ring, both limit the
    rate. `ingest_rate` limits what is sent in each second. The time is measured by cqlsh: it starts when
    cqlsh is connected and ends, to a tenth of a second, when its processes have ended; most of the first
    second is their start, so copy many rows. cqlsh hands each process 24 chunks ahead, then pauses for a
    second or two: small chunks are finished before it returns. A row counts once `consistency` replicas have
    stored it. Failed requests are tried five times.

    Missing keyspaces and tables are created, and the first copy empties the table before each trial. Several
    copies share the `rows`, but each reads the entire `file` on its host. They query the nodes in turn for
    the ring's layout; rows always go directly to a node that stores them.
    """

    Options = CqlCopyOptions
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
        options = self.options
        rows = (
            [Phase("generate", generate(place, options), measured=False)] if options.rows is not None else []
        )
        return (
            *rows,
            Phase("schema", schema(place, options), measured=False),
            Phase("copy", copy(place, options)),
        )

    def parse(self, phase: str, output: Output) -> Reading:
        """See `cql_copy.output`. Raises ParseFailure."""
        return result.parse_output(output, self.options.may_fail)

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """The ingest rate over time, by cqlsh's own progress, which counts whole chunks."""
        return result.parse_series(output)

    def disk(self) -> int:
        """The file of rows that are made up."""
        return _ROW * (self.options.rows or 0)

    def seconds(self) -> float | None:
        """A guess, bounded by the ingest rate; unknown for a file."""
        if self.options.rows is None:
            return None
        asked = self.options.ingest_rate
        rate = _GUESS if asked == "default" else min(_GUESS, asked)
        return 2 * _START + self.options.rows / rate
