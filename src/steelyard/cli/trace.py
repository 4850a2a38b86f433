"""`steelyard trace`"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import AfterDashes, KnownName, json_option, print_json, store_option
from steelyard.cli.terminal import echo
from steelyard.cli.trace_changes import add_changes
from steelyard.errors import StoreError, UsageError
from steelyard.units import format_count

if TYPE_CHECKING:
    from steelyard.traces.folder import TraceFolder


_NOTHING = {
    True: "is it linked statically, or has it another account's rights (setuid)? `--by fuse` records it, too",
    False: "it asked for nothing in these directories; `--over DIR` names others",
}


class TraceName(KnownName):
    """A trace: its id or a part of it, a path, or `last`. Completes from the store."""

    name = "trace"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """`last`, and the ids, newest first."""
        from steelyard.spec.stores import choose_store
        from steelyard.traces.folder import list_traces

        return ("last", *(trace.id for trace in reversed(list_traces(choose_store(ctx.params.get("store"))))))


@click.group()
def command() -> None:
    """Record what a program asks of its storage, say what it is like, and make other traces of that.

    \b
    steelyard trace record -- sqlite3 my.db 'SELECT count(*) FROM orders'
    steelyard trace show last
    steelyard trace convert last --to orders.iolog
    """


add_changes(command, TraceName())


@command.command(cls=AfterDashes)
@click.option("--anonymous", is_flag=True, help="Replace the names of files by hashes")
@click.option(
    "--by", "way", type=click.Choice(["io", "fuse", "fuse-cached"]), default="io", show_default=True
)
@click.option(
    "--over",
    multiple=True,
    metavar="DIR",
    help="With FUSE: the directory; may be repeated  [default: this one]",
)
@store_option
@click.pass_context
def record(ctx: click.Context, anonymous: bool, way: str, over: tuple[str, ...], store: str | None) -> int:
    """Run a COMMAND and record every storage call of it and of the programs that it starts.

    \b
    steelyard trace record -- sqlite3 my.db 'SELECT count(*) FROM orders'
    steelyard trace record --anonymous -- ./simulation input.nml
    steelyard trace record -- mpirun -n 2 ./solver
    steelyard trace record --by fuse --over ./data -- ./static-program

    \b
    io           a library that is loaded into the programs, which must be linked dynamically
    fuse         a file system between any programs and their directories: every request comes through it, and
                 memory that is mapped and shared cannot be had
    fuse-cached  likewise, with the kernel's cache before it: what that answers is not seen

    What is not seen is named in the trace. The exit code is the COMMAND's.
    """
    from steelyard.spec.stores import choose_store
    from steelyard.traces.folder import create_trace
    from steelyard.traces.recorder import choose_recorder
    from steelyard.traces.recording import run_recorded

    words = ctx.meta.get("words", ())
    if not words:
        raise UsageError("nothing to record", hint="`steelyard trace record -- COMMAND`")
    chosen = choose_recorder(way, over or (".",))
    folder = create_trace(choose_store(store), _make_title(words[0]))
    code = run_recorded(chosen, folder, words)
    document = _complete(folder, anonymous=anonymous)
    echo(f"{folder.path}: {format_count(document['calls'], 'record')}", err=True)
    if not document["processes"]:
        raise UsageError(f"no process of {words[0]} was recorded", hint=_NOTHING[way == "io"])
    return code


@command.command("import")
@click.argument("log", type=click.Path(path_type=Path))
@store_option
def import_(log: Path, store: str | None) -> int:
    """Make a trace of what Darshan recorded with DXT_ENABLE_IO_TRACE=1 in a LOG.

    \b
    steelyard install darshan
    steelyard trace import alice_solver_id4711.darshan

    The log has reads and writes alone, with a process for each rank.
    """
    from steelyard.spec.stores import choose_store
    from steelyard.traces.darshan import import_log
    from steelyard.traces.folder import making_trace

    with making_trace(choose_store(store), _make_title(log.stem)) as folder:
        document = import_log(log, folder)
    echo(f"{folder.path}: {format_count(document['calls'], 'record')}", err=True)
    return 0


@command.command()
@click.argument("trace", type=TraceName(), default="last")
@click.option("--under", metavar="DIR", help="Only calls on files below DIR")
@store_option
@json_option
def show(trace: str, under: str | None, store: str | None, as_json: bool) -> int:
    """Show what a TRACE tells of an application: calls, sizes, patterns, files, and the course of time.

    \b
    steelyard trace show                 the newest
    steelyard trace show 7f3a --json
    steelyard trace show --under ./data  leave out what the program's own files take
    """
    from steelyard.report.trace import trace_lines
    from steelyard.spec.stores import choose_store
    from steelyard.traces.folder import find_trace
    from steelyard.traces.profile import profile_table

    folder = find_trace(choose_store(store), trace)
    document = folder.read_document() if folder.table.exists() else _complete(folder)
    profile = profile_table(folder.table, str(Path(under).absolute()) if under else "")
    if as_json:
        print_json({"trace": document, "profile": dataclasses.asdict(profile) | {"label": profile.label}})
    else:
        for line in trace_lines(profile, document):
            echo(line)
    return 0


@command.command("list")
@store_option
@json_option
def list_(store: str | None, as_json: bool) -> int:
    """List the traces in the store, newest last."""
    from steelyard.spec.stores import choose_store
    from steelyard.traces.folder import list_traces

    documents = []
    for trace in list_traces(choose_store(store)):
        try:
            documents.append((trace.id, trace.read_document()))
        except StoreError as error:
            echo(error, err=True)
    if as_json:
        print_json([{"id": name, **document} for name, document in documents])
    for name, document in documents if not as_json else ():
        echo(f"{name}  {document.get('calls', '–')}  {' '.join(document.get('command', ()))}")
    return 0


def _complete(folder: TraceFolder, *, anonymous: bool = False) -> dict[str, Any]:
    """Make the table, and say what the recorder costs, where it was recorded on this machine."""
    from steelyard.traces.recorder import choose_recorder
    from steelyard.traces.recording import complete_trace, measure_cost

    document = folder.read_document()
    is_ours = document.get("host") == os.uname().nodename
    cost = measure_cost(choose_recorder(document["way"]), folder) if is_ours else None
    return complete_trace(folder, anonymous=anonymous, cost=cost)


def _make_title(program: str) -> str:
    name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in Path(program).name)
    return name.lstrip("._-") or "program"
