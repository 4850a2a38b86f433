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
    """Stop CLUSTER after its application, or at once if none runs, and take the planned snapshot.

    \b
    steelyard cluster stop
    steelyard cluster stop brain
    """
    from steelyard.cluster.clusters import find_cluster
    from steelyard.errors import UsageError
    from steelyard.spec.stores import choose_store

    target = find_cluster(choose_store(store), cluster)
    if target.state != "running":
        raise UsageError(
            f"cluster {target.name} has not started: it is {target.activity.what}",
            hint=f"`steelyard cluster kill {target.name}` removes it from the queue",
        )
    told = ask(target.folder.control, "stop")
    last = " takes its snapshot and" if told.get("snapshot") else ""
    first = " now" if told["doing"] == "holding" else f", once it is done with {told['doing']},"
    echo(f"cluster {target.name}{first}{last} stops")
    return 0
