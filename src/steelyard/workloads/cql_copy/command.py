"""The command lines of cqlsh, for one of several copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from steelyard.plugin import Command, Endpoint, Place, Tool
from steelyard.workloads.cql_copy.options import CqlCopyOptions
from steelyard.workloads.kit.client import endpoint, fail_with, fail_without_server

CQLSH = Tool("cqlsh", pip="cqlsh.lock", at_least="6.2")
_ROWS = Path(__file__).with_name("rows.py")
_MADE = "cells.csv"
_FAILED = "failed.csv"
_PROGRESS = "progress"
_CONNECT, _REQUEST = 30, 600  # seconds; emptying a large table takes a while

# The caller's own files of cqlsh have no say. It makes ~/.cassandra unless its history lies elsewhere. A file
# of credentials keeps the password off the command line, which others on the client's host can read.
_CQLSH = """
umask 077
export CQL_HISTORY="$PWD/history"
: > cqlshrc
if [ -n "${CQL_PASSWORD:-}" ]; then
    printf '[plain_text_auth]\\nusername = %s\\npassword = %s\\n' "$CQL_USER" "$CQL_PASSWORD" > credentials
    unset CQL_PASSWORD
fi
if [ -n "${CQL_AUTHORITY:-}" ]; then
    unset SSL_CERTFILE SSL_VALIDATE
    printf '%s' "$CQL_AUTHORITY" > authority.pem
    printf '[connection]\\nssl = true\\n[ssl]\\nvalidate = true\\ncertfile = %s\\n' \\
        "$PWD/authority.pem" > cqlshrc
fi
"""
_SCHEMA = f'{_CQLSH}exec cqlsh --cqlshrc=cqlshrc "$@"\n'
# cqlsh's code is 2 also when a request that failed went well on its second try; the parser reads that.
# The moment of its last line of progress gives that of all: they tell only the time since the start.
_COPY = f"""{_CQLSH}
code=0
cqlsh --cqlshrc=cqlshrc "$@" || code=$?
date -r {_PROGRESS} +%s.%N > "$OUT/last" 2>/dev/null || :
printf '%s\\n' "$ROWS" > "$OUT/asked"
[ ! -s {_FAILED} ] || head -n 1000 {_FAILED} > "$OUT/{_FAILED}"
[ $code = 2 ] || exit $code
"""


def share(total: int, place: Place) -> tuple[int, int]:
    """The part of a copy when rows are divided among all: where it starts, and how many they are."""
    first = total * place.copy // place.copies
    return first, total * (place.copy + 1) // place.copies - first


def generate(place: Place, options: CqlCopyOptions) -> Command:
    """Write this copy's part of the rows; the Python that runs cqlsh runs this, too."""
    first, count = share(options.rows or 0, place)
    words = ("-", str(place.seed), str(first), str(count), _MADE)
    return Command(_cqlsh_tool("python3").argv(*words), cwd=place.scratch, stdin=_ROWS.read_text())


def schema(place: Place, options: CqlCopyOptions) -> Command:
    """Make keyspace and table, by the first copy, and empty the table."""
    to = endpoint(place, options)
    if to is None:
        return fail_without_server("cql_copy")
    if place.copy:
        return Command(("true",))
    words = _cqlsh_arguments(to, options, "; ".join(_statements(to, options)))
    return _cqlsh_command(_SCHEMA, words, to, place)


def copy(place: Place, options: CqlCopyOptions) -> Command:
    """Copy the file into the table."""
    to = endpoint(place, options)
    if to is None:
        return fail_without_server("cql_copy")
    rows = share(options.rows, place)[1] if options.rows is not None else None
    if rows == 0:
        return fail_with(f"cql_copy cannot divide {options.rows} rows among {place.copies} copies")
    words = _cqlsh_arguments(to, options, f"CONSISTENCY {options.consistency}; {_copy_statement(options)}")
    env = {"OUT": str(place.raw), "ROWS": "" if rows is None else str(rows)}
    return _cqlsh_command(_COPY, words, to, place, **env)


def _cqlsh_tool(program: str) -> Tool:
    """A program that finds cqlsh, or what belongs to it, on its PATH."""
    return replace(CQLSH, program=program)


def _cqlsh_command(script: str, words: tuple[str, ...], to: Endpoint, place: Place, **env: str) -> Command:
    user = {"CQL_USER": to.facts["user"]} if "user" in to.facts else {}
    believes = {"CQL_AUTHORITY": to.authority} if to.authority else {}
    secrets = {"CQL_PASSWORD": to.password} if to.password else {}
    argv = _cqlsh_tool("sh").argv("-eu", "-c", script, "sh", *words)
    return Command(argv, {**user, **believes, **env}, cwd=place.scratch, secrets=secrets)


def _cqlsh_arguments(to: Endpoint, options: CqlCopyOptions, statements: str) -> tuple[str, ...]:
    """What cqlsh is told; a service's credentials lie where the scripts put them."""
    file = options.credentials or ("credentials" if to.password else None)
    words = [f"--credentials={file}"] if file else []
    words += [f"--connect-timeout={_CONNECT}", f"--request-timeout={_REQUEST}", f"--execute={statements}"]
    return (*words, to.address, str(to.port))


def _statements(to: Endpoint, options: CqlCopyOptions) -> Iterator[str]:
    copies = options.replication or int(to.facts.get("replication", "1"))
    where = to.facts.get("datacenter", "replication_factor")  # the latter is every data centre
    placing = f"{{'class': 'NetworkTopologyStrategy', '{where}': {copies}}}"
    yield f'CREATE KEYSPACE IF NOT EXISTS "{options.keyspace}" WITH replication = {placing}'
    if options.table_columns:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in options.table_columns.items())
        key = ", ".join(f'"{name}"' for name in options.table_key)
        yield f"CREATE TABLE IF NOT EXISTS {_table(options)} ({columns}, PRIMARY KEY ({key}))"
    if options.truncate:
        yield f"TRUNCATE {_table(options)}"


def _copy_statement(chosen: CqlCopyOptions) -> str:
    columns = ", ".join(f'"{name}"' for name in chosen.table_columns)
    options = " AND ".join(f"{name}={value}" for name, value in _options(chosen))
    named = f" ({columns})" if columns else ""
    return f"COPY {_table(chosen)}{named} FROM '{chosen.file or _MADE}' WITH {options}"


def _options(options: CqlCopyOptions) -> Iterator[tuple[str, object]]:
    if options.ingest_rate != "default":
        yield "INGESTRATE", round(options.ingest_rate)
    if options.processes is not None:
        yield "NUMPROCESSES", options.processes
    if options.header:
        yield "HEADER", "true"
    yield "CHUNKSIZE", options.chunk_size
    yield "MAXBATCHSIZE", options.max_batch_size
    yield "MAXPARSEERRORS", options.may_fail
    yield "MAXINSERTERRORS", options.may_fail
    yield "RATEFILE", f"'{_PROGRESS}'"
    yield "ERRFILE", f"'{_FAILED}'"


def _table(options: CqlCopyOptions) -> str:
    return f'"{options.keyspace}"."{options.table}"'
