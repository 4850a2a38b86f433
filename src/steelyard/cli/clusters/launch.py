"""Start the run that a cluster is, here or by a scheduler, and stay with it until its application ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.cli.clusters.show import ClusterObserver, say
from steelyard.cli.terminal import echo
from steelyard.cluster.clusters import OUR_FAILURE, ClusterFollower, application_exit
from steelyard.cluster.experiment import DEFAULT_NODES
from steelyard.controller.choices import JobChoices, RunChoices, needs_job
from steelyard.controller.loop import complete
from steelyard.controller.run import start
from steelyard.errors import Interrupted, SteelyardError, UsageError
from steelyard.model.experiment import Experiment
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.spec.change import load_tree
from steelyard.spec.sites import NamedSite, resolve
from steelyard.spec.stores import choose_store
from steelyard.store.layout import RunFolder, Store
from steelyard.units import Duration

FOUR_HOURS = 4 * 3600.0
BARE = ("local", "netns")
"""Sites that play as many hosts as they are told to."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What the command line says of the job. `words` are the scheduler's own."""

    name: str
    store: str | None = None
    site: str | None = None
    detach: bool = False
    seconds: float | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    logs: str | None = None
    words: tuple[str, ...] = ()

    @property
    def node_count(self) -> int:
        """How many nodes the site has where it says so; else the usual number."""
        bare = self.site is None or self.site in BARE
        return DEFAULT_NODES if bare else resolve(self.site or "").site.size() or DEFAULT_NODES

    def resolve_site(self, nodes: int) -> NamedSite:
        """The site, with what its jobs are to ask for. Raises UsageError, UnknownName."""
        text = self.site or "local"
        named = resolve(f"{text}:{nodes}" if text in BARE else text)
        asked = {"queue": self.partition, "account": self.account, "qos": self.qos}
        given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
        if not isinstance(named.site.options, BatchOptions):
            for option in ("partition", "account", "qos"):
                if getattr(self, option) is not None:
                    raise UsageError(f"--{option} applies to batch schedulers; site {named.name} is not one")
            return named
        chosen = named.site.options
        if self.seconds is not None or "time" not in chosen.model_fields_set:
            given["time"] = Duration(self.seconds or FOUR_HOURS)
        return NamedSite(named.name, type(named.site)(chosen.model_copy(update=given)))


def launch(tree: Mapping[str, Any], asked: LaunchOptions, nodes: int) -> int:
    """Run it; the exit code: the application's, 125 where we failed. Raises UsageError, Interrupted."""
    experiment, text = load_tree(tree)
    site, store = asked.resolve_site(nodes), choose_store(asked.store)
    queued = needs_job(site)
    if asked.detach and not queued:
        from steelyard.cli.clusters.background import run_in_background

        return run_in_background(lambda told: _start_run(experiment, text, store, site, asked, told), asked)
    shown = ClusterObserver(asked.name, logs=Path(asked.logs) if asked.logs else None)

    def work() -> int:
        folder = _start_run(experiment, text, store, site, asked, shown)
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


def _start_run(
    experiment: Experiment,
    text: str,
    store: Store,
    site: NamedSite,
    asked: LaunchOptions,
    shown: ClusterObserver,
) -> RunFolder:
    queued = needs_job(site)
    jobs = JobChoices(detach=queued, options=asked.words, name=asked.name)
    seconds = None if site.site.is_batch else asked.seconds or FOUR_HOURS
    # A database stays for hours, and shares its machine by intention: nobody waits for its turn.
    choices = RunChoices(site, parallel=True, jobs=jobs, seconds=seconds)
    return start(experiment, text, store, choices=choices, observer=shown)


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
