"""`steelyard cluster snapshot`"""

from __future__ import annotations

import click

from steelyard.cli.clusters.attach import ask
from steelyard.cli.clusters.options import cluster_argument, place_option, snapshot_place
from steelyard.cli.options import json_option, print_json, store_option
from steelyard.cli.terminal import echo


@click.command()
@cluster_argument
@place_option
@store_option
@json_option
def command(cluster: str | None, place: str | None, store: str | None, as_json: bool) -> int:
    """Take a snapshot of CLUSTER now; it stays in use in the meantime.

    \b
    steelyard cluster snapshot
    steelyard cluster snapshot brain --snapshots s3://results/brain
    """
    from steelyard.cluster.clusters import find_cluster
    from steelyard.spec.stores import choose_store
    from steelyard.units import show

    target = find_cluster(choose_store(store), cluster)
    where = snapshot_place(store, place) if place else None
    told = ask(target.folder.control, "snapshot", place=where)
    if as_json:
        print_json(told)
        return 0
    for one in told["snapshots"]:
        size, spread = show(one["bytes"], "B"), show(one["spread"], "s")
        echo(f"{one['name']}  {size}, about {one['rows']} rows of {one['nodes']} nodes within {spread}")
    return 0
