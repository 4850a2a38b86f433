"""`steelyard cluster snapshots`"""

from __future__ import annotations

import click

from steelyard.cli.clusters.options import SnapshotName, place_option, snapshot_place
from steelyard.cli.options import json_option, print_json, store_option
from steelyard.cli.terminal import echo


@click.command()
@place_option
@click.option(
    "--remove", multiple=True, metavar="NAME", type=SnapshotName(), help="Remove this snapshot; repeatable"
)
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Remove all but the N newest")
@store_option
@json_option
def command(
    place: str | None, remove: tuple[str, ...], keep: int | None, store: str | None, as_json: bool
) -> int:
    """List snapshots, newest first, or remove some.

    \b
    steelyard cluster snapshots
    steelyard cluster snapshots --remove 20261120-184512-17
    steelyard cluster snapshots --keep 3

    Files shared with other snapshots are kept as long as one of those needs them. Files only minutes old are
    also kept until the next removal, because a snapshot that needs them may be in progress.
    """
    from steelyard.cli.clusters.snapshot_table import describe_snapshot, format_table
    from steelyard.cluster.snapshot_catalog import SnapshotCatalog
    from steelyard.units import show

    shelf = SnapshotCatalog(snapshot_place(store, place))
    doomed = list(remove)
    if keep is not None:
        names = shelf.list_names()
        doomed += [name for name in names[: max(0, len(names) - keep)] if name not in doomed]
    if doomed:
        freed = show(shelf.remove(doomed), "B")
        echo(f"removed {', '.join(doomed)}; {freed} freed")
        return 0
    if keep is not None:
        echo("nothing to remove", err=True)
        return 0
    snapshots = shelf.read_all()
    if as_json:
        print_json([describe_snapshot(one) for one in snapshots])
    elif snapshots:
        echo("\n".join(format_table(snapshots)))
    else:
        echo(f"no snapshots in {shelf.place}; `cluster run --snapshot` takes one", err=True)
    return 0
