"""`steelyard watch`"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

import click

from steelyard.cli.options import find_run, run_argument, store_option
from steelyard.cli.terminal import echo
from steelyard.store.layout import RunFolder

REFRESH = 0.5
NICE = 10
"""Who watches must not disturb what is measured on the same machine."""


@click.command()
@run_argument(default="last")
@store_option
def command(run: str, store: str | None) -> int:
    """Watch RUN while it goes on: its cells filling, its current trial, what fails or is marked.

    \b
    steelyard watch                       the newest run
    ssh -t login steelyard watch

    The results stay on the screen when the run is over. Ctrl-C stops watching; the run goes on. Several
    people may watch a run, from any machine that sees its store.
    """
    from steelyard.analysis.findings import Findings
    from steelyard.cli.finish import print_results
    from steelyard.store.reader import RunRecord

    folder = find_run(store, run)
    with suppress(OSError):
        os.nice(NICE)
    try:
        ending = _watch(folder)
    except KeyboardInterrupt:
        echo(f"run {folder.id} goes on; `steelyard watch {folder.id}` shows it again", err=True)
        return 0
    print_results(Findings(RunRecord(folder)), as_json=False)
    if ending != "complete":
        echo(f"run {folder.id}: {ending}; `steelyard resume {folder.id}` continues it", err=True)
    return 0


def _watch(folder: RunFolder) -> str:
    """Until the run is over, or its controller is; how it ended."""
    from rich.live import Live

    from steelyard.cli.picture import draw_run
    from steelyard.cli.screen import Screen
    from steelyard.watching.watcher import Watcher

    watcher, screen = Watcher(folder), Screen()
    if not sys.stderr.isatty():
        while not watcher.look():
            time.sleep(REFRESH)
            for note in watcher.take_notes():
                echo(note, err=True)
        return watcher.state.state
    with Live(console=screen, auto_refresh=False, transient=True, screen=False) as live:
        while not watcher.look():
            width, height = screen.size
            picture = draw_run(watcher.state, watcher.read_samples(), width=width, height=height)
            live.update(picture, refresh=True)
            time.sleep(REFRESH)
    return watcher.state.state
