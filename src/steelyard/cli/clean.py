"""`steelyard clean`"""

from __future__ import annotations

import click

from steelyard.cli.options import store_option
from steelyard.cli.terminal import echo


@click.command()
@store_option
def command(store: str | None) -> int:
    """Clean up what dead runs left: processes, rented machines, pods, queued jobs and scratch directories.

    This is safe at any time: live runs are not touched, and all records are kept.
    """
    from steelyard.controller.clean import clean
    from steelyard.spec.stores import choose_store

    report = clean(choose_store(store))
    for path in report.removed:
        echo(f"removed {path}")
    for text in report.machines:
        echo(f"terminated rented machine {text}")
    for text in report.jobs:
        echo(f"removed Kubernetes {text}")
    for text in report.queued:
        echo(f"cancelled jobs {text}")
    for text in report.failures:
        echo(f"kept {text}", err=True)
    echo(f"{report.process_count} processes terminated, {len(report.removed)} scratch directories removed")
    return 3 if report.failures else 0
