"""What the caller may decide about a session of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.keys.roles import assign_hosts, count_min_hosts
from steelyard.model.keys.timeline import Entry
from steelyard.model.space import cells
from steelyard.sites.base import Site
from steelyard.spec.bind import bind_event_options, event_class
from steelyard.spec.checks.rights import list_privileged
from steelyard.spec.sites import NamedSite, resolve
from steelyard.units import show

_NO_JOBS_HINT = "leave it out, or choose a batch site such as --site slurm:4"
JOB = "STEELYARD_JOB"
"""Set to 1 in the environment of a controller that a job runs: it waits for who submitted it to let go."""


@dataclass(frozen=True, slots=True)
class JobChoices:
    """What may be decided about the jobs of a batch scheduler.

    `detach`: do not follow the run. `chain`: a job that ends before the run does submits the next one.
    `split`: one job after the other for each number of hosts. `options` are the scheduler's own
    words. `name` is what the scheduler is to call the job, by default the run's id.
    """

    detach: bool = False
    chain: bool = False
    split: bool = False
    options: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class RunChoices:
    """What the command line may decide.

    `scratch`: the directory for test data, by default in the store. `parallel`: do not wait for another run
    on this machine but run beside it, each trial marked as disturbed. `seconds`: how long it may last where
    the site does not say.
    """

    site: str | Site[Any] | NamedSite | None = None
    scratch: Path | None = None
    parallel: bool = False
    jobs: JobChoices = field(default_factory=JobChoices)
    seconds: float | None = None


def choose_site(choices: RunChoices | None, experiment: Experiment, before: str | None = None) -> NamedSite:
    """Where to run: the caller's word wins over `before`, where the run began, and that over the file's.

    Where none is named, this machine plays as many hosts as the roles need.

    Raises UnknownName, and UsageError when it cannot fill the roles: before anything is started or paid for.
    """
    chosen = (choices.site if choices else None) or before or experiment.site
    named = _resolve_site(chosen) if chosen else _default_site(experiment)
    there = named.site.size()
    if there is not None and not is_split(choices, named):
        assign_hosts(experiment.claims, range(there))
    if choices and not named.site.is_batch:
        _check_no_jobs(choices.jobs, named.name)
    _check_events(named, experiment)
    _check_rights(named, experiment)
    notes = dict.fromkeys((*named.notes, *_check_pauses(named, experiment)))
    return replace(named, notes=tuple(notes))


def _resolve_site(chosen: str | Site[Any] | NamedSite) -> NamedSite:
    if isinstance(chosen, NamedSite):
        return chosen
    return NamedSite(type(chosen).__name__, chosen) if isinstance(chosen, Site) else resolve(chosen)


def _default_site(experiment: Experiment) -> NamedSite:
    count = count_min_hosts(experiment.claims)
    if count == 1:
        return resolve("local")
    note = f"no site was given: this machine acts as {count} hosts, which share its cores, memory and disk"
    return replace(resolve(f"local:{count}"), notes=(note,))


def list_needs(experiment: Experiment) -> frozenset[str]:
    """What the events of a timeline need their site to be capable of."""
    needs = (event_class(entry.plugin).site_capabilities for entry in experiment.timeline)
    return frozenset[str]().union(*needs)


def _check_events(named: NamedSite, experiment: Experiment) -> None:
    for number, entry in enumerate(experiment.timeline, 1):
        if lacks := event_class(entry.plugin).site_capabilities - named.site.capabilities():
            raise UsageError(
                f"timeline, entry {number} ({entry.do}): site {named.name} cannot"
                f" {_format_capabilities(lacks)}",
                hint="use hosts on this machine that can: `lab: {use: netns, hosts: 4, via: nsenter}` in "
                "sites.yaml, and `--site lab`",
            )


def _check_pauses(named: NamedSite, experiment: Experiment) -> Iterator[str]:
    """What to know of hosts that may be silent until they are lost. Raises UsageError where one will be."""
    limit = named.site.silence_limit()
    for number, entry in enumerate(experiment.timeline, 1):
        if limit is None or not event_class(entry.plugin).silences_hosts:
            continue
        where = f"timeline, entry {number} ({entry.do})"
        lost = f"site {named.name} counts a host as lost after {show(limit, 's')} without an answer"
        lengths = _list_lengths(entry, experiment)
        if (longest := max(filter(None, lengths), default=0.0)) >= limit:
            message = f"{where}: `length` is {show(longest, 's')}, but {lost}"
            raise UsageError(message, hint="shorten it, or raise `lost_after` of the site")
        if None in lengths:
            yield f"{where}: without `length` it lasts until the end of the trial, but {lost}"


def _list_lengths(entry: Entry, experiment: Experiment) -> list[float | None]:
    """How long an event takes in each cell, in seconds."""
    kind = event_class(entry.plugin)
    bound = [bind_event_options(entry, cell) for cell in cells(experiment, experiment.seed or 0)]
    return [getattr(kind.Options.model_validate(options), "length", None) for options in bound]


def _check_rights(named: NamedSite, experiment: Experiment) -> None:
    """Whether the site's hosts surely do not permit something that the experiment does."""
    restriction = named.site.find_restriction()
    if restriction and (refused := dict.fromkeys(list_privileged(experiment))):
        message = f"site {named.name} does not permit {', '.join(refused)}: {restriction.why}"
        raise UsageError(message, hint=restriction.hint)


def _format_capabilities(capabilities: Iterable[str]) -> str:
    return ", ".join(sorted(name.replace("-", " the ") for name in capabilities))


def is_split(choices: RunChoices | None, named: NamedSite) -> bool:
    """Whether there is one job for each number of hosts: as the caller says, or the site's options."""
    return bool(choices and choices.jobs.split) or getattr(named.site.options, "split", None) == "by-hosts"


def _check_no_jobs(jobs: JobChoices, name: str) -> None:
    asked = [word for word in ("detach", "chain", "split") if getattr(jobs, word)]
    if asked or jobs.options:
        what = f"--{asked[0]}" if asked else f"'{jobs.options[0]}' after --"
        raise UsageError(f"{what} applies to batch schedulers; site {name} is not one", hint=_NO_JOBS_HINT)


def needs_job(named: NamedSite) -> bool:
    """Whether its hosts are only had in a job that is still to be submitted."""
    return named.site.is_batch and named.site.current_job() is None
