"""The run that a cluster is: where it is to go on, with how many nodes, and its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.cluster.experiment import DEFAULT_NODES
from steelyard.controller.choices import JobChoices, RunChoices, needs_job
from steelyard.controller.observer import Observer
from steelyard.controller.run import start
from steelyard.errors import UsageError
from steelyard.model.experiment import Experiment
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.spec.sites import NamedSite, resolve
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

    @property
    def has_directory(self) -> bool:
        """Whether its nodes have the directory in which we are; those that come and go with a run do not."""
        site = resolve(self.site or "local").site
        return "shared-files" in site.capabilities() or site.install_policy != "never"

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


def start_cluster(
    experiment: Experiment,
    text: str,
    store: Store,
    site: NamedSite,
    asked: LaunchOptions,
    observer: Observer,
) -> RunFolder:
    """Run the experiment that a cluster is; where it needs a job, submit that and return.

    Raises as `controller.run.start`.
    """
    queued = needs_job(site)
    jobs = JobChoices(detach=queued, options=asked.words, name=asked.name)
    seconds = None if site.site.is_batch else asked.seconds or FOUR_HOURS
    # A database stays for hours, and shares its machine by intention: nobody waits for its turn.
    choices = RunChoices(site, parallel=True, jobs=jobs, seconds=seconds)
    return start(experiment, text, store, choices=choices, observer=observer)
