"""`steelyard cluster attach`"""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.clusters.options import application_options, cluster_argument, job_options
from steelyard.cli.clusters.run import make_application, make_options
from steelyard.cli.options import AfterDashes


@click.command(cls=AfterDashes)
@cluster_argument
@click.option("-nA", "--app-nodes", "nodes", type=click.IntRange(1), default=1, metavar="N", help="Its nodes")
@application_options
@job_options
@click.pass_context
def command(ctx: click.Context, /, cluster: str | None, nodes: int, **options: Any) -> int:
    """Run an application against a live cluster, from another job or host.

    \b
    steelyard cluster attach --appl "python count.py"
    steelyard cluster attach brain --site slurm -nA 4 --mpi 8 --appl ./reader

    It finds the database as an application of the cluster does, and this command returns its exit code. You
    must make sure that both jobs run at the same time.
    """
    from pathlib import Path

    from steelyard.cli.clusters.launch import launch, report_errors
    from steelyard.cluster.clusters import find_cluster
    from steelyard.cluster.experiment import build_attach_tree
    from steelyard.errors import UsageError
    from steelyard.spec.stores import choose_store

    target = find_cluster(choose_store(options["store"]), cluster)
    asked = make_options(ctx, {**options, "name": f"{target.name}-attach"})
    appl = make_application(options, asked)
    if appl is None:
        raise UsageError("no application given", hint="give --appl COMMAND")
    if not asked.has_directory:
        message = f"nodes of site {asked.site} cannot read where the database of {target.name} is"
        raise UsageError(message, hint="start its application with it: `steelyard cluster run --appl`")

    def work() -> int:
        ask(target.folder.control, "endpoint")
        control = str(Path(target.folder.control).absolute())
        return launch(build_attach_tree(target.name, control, nodes, appl), asked, nodes)

    return report_errors(work)


def ask(control: Any, verb: str, **facts: Any) -> Any:
    """Ask the controller of a cluster. Raises HostError."""
    from steelyard.controller.control.socket import call
    from steelyard.controller.loop import complete

    return complete(call(control, verb, **facts))
