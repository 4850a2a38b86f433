"""`steelyard cluster recover`"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from steelyard.cli.clusters.options import (
    SnapshotName,
    application_options,
    database_options,
    job_options,
    node_options,
    snapshot_place,
)
from steelyard.cli.clusters.run import (
    check_snapshot_place,
    make_application,
    make_cluster,
    make_options,
)
from steelyard.cli.options import AfterDashes
from steelyard.cli.terminal import echo


@click.command(cls=AfterDashes)
@click.option("--id", "chosen", metavar="NAME", type=SnapshotName(), help="The snapshot of this name")
@click.option("--latest", is_flag=True, help="The newest snapshot")
@node_options
@application_options
@database_options
@job_options
@click.pass_context
def command(ctx: click.Context, /, chosen: str | None, latest: bool, **options: Any) -> int:
    """Start a database with the data of a snapshot, and an application alongside it.

    \b
    steelyard cluster recover                              lists the snapshots
    steelyard cluster recover --latest --appl "python count.py" --finish
    steelyard cluster recover --id 20261120-184512-17 -nC 6 --snapshot

    The database may have more or fewer nodes than the snapshot; by default it has as many, on the site where
    the snapshot was taken. All other options are those of `steelyard cluster run`.
    """
    from steelyard.cli.clusters.launch import launch, report_errors, warn_of_idle

    place = snapshot_place(options["store"], options["place"])
    if not (chosen or latest):
        return report_errors(lambda: _list_snapshots(place))
    asked = make_options(ctx, options)

    def work() -> int:
        snapshot = _find_snapshot(place, chosen)
        own = replace(asked, site=asked.site or _snapshot_site(snapshot.site))
        check_snapshot_place(place, own)
        appl = make_application(options, own)
        nodes = {**options, **_count_nodes(options, len(snapshot.nodes), appl is not None)}
        recover = {"snapshot": snapshot.name, "from": place}
        cluster = make_cluster(nodes, appl, own, recover=recover)
        warn_of_idle(cluster.sizes.total, cluster.sizes.idle_nodes)
        return launch(cluster.tree(), own, cluster.sizes.total)

    return report_errors(work)


def _list_snapshots(place: str) -> int:
    """What there is, in place of a prompt; as nothing was done, the code is that of a wrong command."""
    from steelyard.cli.clusters.snapshot_table import format_table
    from steelyard.cluster.snapshot_catalog import SnapshotCatalog

    snapshots = SnapshotCatalog(place).read_all()
    if not snapshots:
        echo(f"no snapshots in {place}; `cluster run --snapshot` takes one", err=True)
        return 2
    echo("\n".join(format_table(snapshots)))
    echo("choose one with --id NAME, or the newest with --latest", err=True)
    return 2


def _find_snapshot(place: str, name: str | None) -> Any:
    from steelyard.cluster.snapshot_catalog import SnapshotCatalog
    from steelyard.errors import UsageError

    shelf = SnapshotCatalog(place)
    names = shelf.list_names()
    if not names:
        raise UsageError(f"no snapshots in {place}", hint="use --snapshots to name another place")
    return shelf.read(name or names[-1])


def _count_nodes(options: dict[str, Any], kept: int, runs_application: bool) -> dict[str, Any]:
    """As many nodes of the database as the snapshot has, where no number says otherwise."""
    given = options["total"], options["database_nodes"]
    if given != (None, None):
        return {}
    apart = runs_application and options["disjoint"]
    return {"database_nodes": kept, "application": options["application"] or (1 if apart else None)}


def _snapshot_site(recorded: str) -> str | None:
    """The site of the snapshot, for as many nodes as are asked for now; a file of hosts stays as it is."""
    name, _, argument = recorded.partition(":")
    return (name if argument.isdecimal() else recorded) or None
