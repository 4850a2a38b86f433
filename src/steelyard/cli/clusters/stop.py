"""`steelyard cluster stop`"""

from __future__ import annotations

import click

from steelyard.cli.clusters.attach import ask
from steelyard.cli.clusters.options import cluster_argument
from steelyard.cli.options import store_option
from steelyard.cli.terminal import echo


@click.command()
@cluster_argument
@store_option
def command(cluster: str | None, store: str | None) -> int:
    """End CLUSTER after its application, at once where none runs; take the snapshot that is planned.

    \b
    steelyard cluster stop
    steelyard cluster stop brain
    """
    from steelyard.controller.clusters import named
    from steelyard.errors import UsageError
    from steelyard.spec.stores import chosen_store

    found = named(chosen_store(store), cluster)
    if found.state != "running":
        raise UsageError(
            f"cluster {found.name} has not begun: it is {found.doing.what}",
            hint=f"`steelyard cluster kill {found.name}` takes it out of the queue",
        )
    told = ask(found.folder.control, "stop")
    last = " takes its snapshot and" if told.get("snapshot") else ""
    first = " now" if told["doing"] == "holding" else f", when it is done with {told['doing']},"
    echo(f"cluster {found.name}{first}{last} ends")
    return 0
