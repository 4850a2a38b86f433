"""`steelyard cluster kill`"""

from __future__ import annotations

import click

from steelyard.cli.clusters.options import cluster_argument
from steelyard.cli.options import store_option
from steelyard.cli.terminal import echo


@click.command()
@cluster_argument
@store_option
def command(cluster: str | None, store: str | None) -> int:
    """Stop CLUSTER and its application immediately, without a snapshot, even if it is still queued.

    \b
    steelyard cluster kill brain
    """
    from steelyard.cluster.clusters import find_cluster
    from steelyard.controller.control.steer import steer
    from steelyard.spec.stores import choose_store

    echo(steer(find_cluster(choose_store(store), cluster).folder, "cancel"))
    return 0
