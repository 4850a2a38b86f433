"""`steelyard cluster run`"""

from __future__ import annotations

import os
from typing import Any

import click

from steelyard.cli.clusters.options import (
    application_options,
    database_options,
    job_options,
    node_options,
    parse_settings,
    snapshot_place,
)
from steelyard.cli.options import AfterDashes


@click.command(cls=AfterDashes)
@node_options
@application_options
@database_options
@job_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Start a database as a job, and an application alongside it.

    \b
    steelyard cluster run                                  4 nodes on this machine, until it is stopped
    steelyard cluster run --site slurm -nT 8 -t 02:00:00 --appl "python load.py cells.csv"
    steelyard cluster run --site slurm -nC 4 -nA 2 --disjoint --mpi 16 --appl ./solver --snapshot --finish
    steelyard cluster run -nT 2 --set heap=512MiB --set settings.concurrent_reads=64 -- --constraint=ib

    Without --finish, the database stays up after the application ends, until `steelyard cluster stop` or its
    time limit. The application's output goes to standard output, and this command returns its exit code.
    Arguments after `--` go to the scheduler's submit command.
    """
    from steelyard.cli.clusters.launch import launch, warn_of_idle

    asked = make_options(ctx, options)
    appl = make_application(options, asked)
    cluster = make_cluster(options, appl, asked)
    warn_of_idle(cluster.sizes.total, cluster.sizes.idle_nodes)
    return launch(cluster.tree(), asked, cluster.sizes.total)


def make_options(ctx: click.Context, options: dict[str, Any]) -> Any:
    """What the options say of the job."""
    from steelyard.cluster.launch import LaunchOptions

    keys = ("name", "store", "site", "detach", "seconds", "partition", "account", "qos", "logs")
    return LaunchOptions(**{key: options[key] for key in keys}, words=ctx.meta.get("words", ()))


def make_application(options: dict[str, Any], asked: Any) -> Any:
    """What runs beside the database, in the directory in which we are; None without --appl."""
    from steelyard.cluster.experiment import Application
    from steelyard.errors import UsageError

    if options["line"] is not None:
        here = os.getcwd() if asked.has_directory else None  # noqa: PTH109
        return Application(options["line"], here, options["ranks"], options["pycompss"])
    for option in ("ranks", "pycompss"):
        if options[option] is not None:
            name = "mpi" if option == "ranks" else option
            raise UsageError(
                f"--{name} sets how to start the application, but none is given", hint="give --appl"
            )
    return None


def make_cluster(options: dict[str, Any], appl: Any, asked: Any, **more: Any) -> Any:
    """The cluster that the options describe, for a job as it is asked for. Raises UsageError."""
    from steelyard.cluster.experiment import Cluster, resolve_sizes

    numbers = (options["total"], options["database_nodes"], options["application"])
    node_counts = resolve_sizes(
        *numbers,
        disjoint=options["disjoint"],
        runs_application=appl is not None,
        default=asked.node_count,
    )
    save = None
    if options["snapshot"] or options["always"]:
        place = snapshot_place(options["store"], options["place"])
        check_snapshot_place(place, asked)
        save = {"into": place, "when": "always" if options["always"] else "success"}
    return Cluster(
        name=options["name"],
        sizes=node_counts,
        application=appl,
        database=options["database"],
        options=parse_settings(options["settings"]),
        save=save,
        hold=not options["finish"],
        **more,
    )


def check_snapshot_place(place: str, asked: Any) -> None:
    """Whether its nodes can have snapshots there. Raises UsageError."""
    from steelyard.errors import UsageError

    if not asked.has_directory and not place.startswith("s3://"):
        message = f"nodes of site {asked.site} do not have the directory of snapshots, {place}"
        raise UsageError(message, hint="name a bucket: --snapshots s3://BUCKET/PREFIX")
