"""`steelyard trace cut | merge | scale | convert`"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import KnownName, store_option
from steelyard.cli.terminal import echo
from steelyard.errors import UnitError, UsageError
from steelyard.units import Duration, format_count

if TYPE_CHECKING:
    from steelyard.traces.folder import TraceFolder


def add_changes(group: click.Group, name: KnownName) -> None:
    """Add the commands that make other traces of traces, whose names are of a kind that can be completed."""
    group.add_command(click.argument("trace", type=name, default="last")(cut))
    group.add_command(click.argument("traces", type=name, nargs=-1, required=True)(merge))
    group.add_command(click.argument("trace", type=name, default="last")(scale))
    group.add_command(convert)


@click.command()
@click.option(
    "--from", "first", default="0s", metavar="TIME", help="Leave out what began before, such as 10s"
)
@click.option("--to", "last", metavar="TIME", help="Leave out what began then or later")
@click.option("--under", default="", metavar="DIR", help="Only calls on files below DIR")
@store_option
def cut(trace: str, first: str, last: str | None, under: str, store: str | None) -> int:
    """Make a trace of a part of a TRACE.

    \b
    steelyard trace cut last --from 10s --to 20s
    steelyard trace cut 7f3a --under /var/lib/postgresql
    """
    from steelyard.traces.editing import cut_trace

    begin, end = _read_time(first), _read_time(last) if last else None
    where = str(Path(under).absolute()) if under else ""
    return _make(
        store,
        [trace],
        "cut",
        lambda sources, new: cut_trace(sources[0], new, first=begin, last=end, under=where),
    )


@click.command()
@click.option("--together", is_flag=True, help="Begin all at once, not as far apart as they were")
@store_option
def merge(traces: tuple[str, ...], together: bool, store: str | None) -> int:
    """Make one trace of several TRACES, each with processes of its own.

    \b
    steelyard trace merge 7f3a 81c2
    steelyard trace merge --together 7f3a 7f3a
    """
    from steelyard.traces.editing import merge_traces

    return _make(
        store, list(traces), "merged", lambda sources, new: merge_traces(sources, new, together=together)
    )


@click.command()
@click.option(
    "--sizes", type=click.IntRange(1, 1 << 20), default=1, metavar="N", help="So many times as many bytes"
)
@click.option("--streams", type=click.IntRange(1, 1000), default=1, metavar="N", help="So often at once")
@store_option
def scale(trace: str, sizes: int, streams: int, store: str | None) -> int:
    """Make a trace that asks for more than a TRACE: larger transfers and files, or more of them at once.

    \b
    steelyard trace scale last --sizes 4
    steelyard trace scale 7f3a --streams 8
    """
    from steelyard.traces.editing import scale_trace

    return _make(
        store,
        [trace],
        "scaled",
        lambda sources, new: scale_trace(sources[0], new, sizes=sizes, streams=streams),
    )


@click.command()
@click.argument("source", metavar="TRACE | LOG")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), metavar="LOG", help="Write a TRACE as a log of fio"
)
@store_option
def convert(source: str, target: Path | None, store: str | None) -> int:
    """Write a TRACE as a log that fio replays (iolog, version 3), or make a trace of such a LOG.

    \b
    steelyard trace convert last --to orders.iolog
    steelyard trace convert orders.iolog
    fio --name=replay --read_iolog=orders.iolog

    fio has words for reads, writes and syncs alone, and one thread makes them all.
    """
    from steelyard.spec.stores import choose_store
    from steelyard.traces.folder import find_trace
    from steelyard.traces.iolog import read_log, write_log

    if target is None:
        return _make(store, [], Path(source).stem, lambda _, new: read_log(Path(source), new))
    if target.exists():
        raise UsageError(f"{target} is there already", hint="remove it, or give another name")
    lines, left_out = write_log(find_trace(choose_store(store), source), target)
    echo(f"{target}: {format_count(lines, 'line')}; {format_count(left_out, 'call')} left out", err=True)
    return 0


def _read_time(text: str) -> float:
    try:
        return float(Duration.parse(text))
    except UnitError as error:
        raise UsageError(f"{text!r} is no time, such as 10s") from error


def _make(
    store: str | None, names: list[str], title: str, make: Callable[[list[TraceFolder], TraceFolder], int]
) -> int:
    """A new trace in the store, or none if that fails."""
    from steelyard.spec.stores import choose_store
    from steelyard.traces.folder import find_trace, making_trace

    chosen = choose_store(store)
    sources = [find_trace(chosen, name) for name in names]
    with making_trace(chosen, title) as folder:
        count = make(sources, folder)
    echo(f"{folder.path}: {format_count(count, 'call')}", err=True)
    return 0
