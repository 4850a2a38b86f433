"""Start the run that a cluster is, here or by a scheduler, and stay with it until its application ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from steelyard.cli.clusters.show import ClusterObserver, say
from steelyard.cli.terminal import echo
from steelyard.cluster.clusters import OUR_FAILURE, ClusterFollower, application_exit
from steelyard.cluster.launch import LaunchOptions, start_cluster
from steelyard.controller.choices import needs_job
from steelyard.controller.loop import complete
from steelyard.errors import Interrupted, SteelyardError, UsageError
from steelyard.spec.change import load_tree
from steelyard.spec.stores import choose_store


def launch(tree: Mapping[str, Any], asked: LaunchOptions, nodes: int) -> int:
    """Run it; the exit code: the application's, 125 where we failed. Raises UsageError, Interrupted."""
    experiment, text = load_tree(tree)
    site, store = asked.resolve_site(nodes), choose_store(asked.store)
    queued = needs_job(site)
    if asked.detach and not queued:
        from steelyard.cli.clusters.background import run_in_background

        return run_in_background(
            lambda told: start_cluster(experiment, text, store, site, asked, told), asked
        )
    shown = ClusterObserver(asked.name, logs=Path(asked.logs) if asked.logs else None)

    def work() -> int:
        folder = start_cluster(experiment, text, store, site, asked, shown)
        if queued:
            shown.announce_run(folder)
        if asked.detach:
            echo(folder.id)
            return 0
        if queued:
            complete(ClusterFollower(folder, shown).follow())
        return application_exit(folder)

    try:
        return report_errors(work)
    finally:
        shown.close()


def report_errors(work: Callable[[], int]) -> int:
    """Do it; failures of ours are told, and end with 125. Raises UsageError, Interrupted."""
    try:
        return work()
    except (UsageError, Interrupted):
        raise
    except SteelyardError as error:
        say(str(error))
        return OUR_FAILURE


def warn_of_idle(total: int, idle: int) -> None:
    """Nodes that cost and do nothing."""
    if idle:
        stays = "nodes stay" if idle > 1 else "node stays"
        say(f"warning: {idle} of {total} {stays} unused; lower -nT, or raise -nC or -nA")
