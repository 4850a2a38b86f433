"""Start a run, go on with one, extend one: here, or through a job of a batch scheduler."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.controller.choices import JOB, RunChoices, choose_site, needs_job
from steelyard.controller.clean import remove_run_scratch
from steelyard.controller.context import RunContext
from steelyard.controller.control.extension import extend_record, write_extension
from steelyard.controller.design_document import describe_design, load_experiment
from steelyard.controller.loop import complete
from steelyard.controller.observer import Observer
from steelyard.controller.origin import (
    describe_change,
    describe_file,
    describe_plugin_changes,
    describe_plugins,
)
from steelyard.controller.plan.replayed import check_traces
from steelyard.controller.session import Session
from steelyard.controller.timeline.functions import load_functions, read_texts, reload_functions, save_texts
from steelyard.design import Design, Results
from steelyard.errors import UsageError
from steelyard.hosts.sweep import sweep
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Scalar
from steelyard.spec.sites import NamedSite
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import RunRecord
from steelyard.store.writer import PATIENCE, RunWriter
from steelyard.trust import check_ownership

_PATIENCE_OF_A_JOB = 60.0


def start(
    experiment: Experiment,
    text: str,
    store: Store,
    *,
    choices: RunChoices | None = None,
    observer: Observer | None = None,
    origin: Path | None = None,
) -> RunFolder:
    """Run a checked experiment. `text` is kept as `experiment.yaml`; `origin` is its file, whose folder is
    looked at for git.

    Raises Interrupted when a signal ended it, SteelyardError when it could not be carried out; either way
    what had finished is in the store.
    """
    site = choose_site(choices, experiment)
    place = (origin.parent if origin else Path()).absolute()
    experiment = experiment.with_folder(place)
    functions, experiment = read_texts(experiment), load_functions(experiment)
    check_ownership(store.runs, "the store", shared=True)
    seed = experiment.seed if experiment.seed is not None else secrets.randbelow(2**31)
    design = Design(experiment, seed)
    check_traces(experiment, design.cells, store)
    folder = store.create(experiment.experiment)
    with RunWriter(folder) as writer:
        writer.write_text(folder.experiment, text.rstrip("\n"))
        writer.write_document(folder.design, describe_design(experiment, design))
        save_texts(functions, writer)
        context = RunContext(
            experiment,
            design,
            Results(),
            writer,
            store,
            site,
            choices or RunChoices(),
            observer or Observer(),
            experiment.folder if origin else None,
        )
        facts = {"run": folder.id, "experiment": experiment.experiment, "seed": seed, "site": site.name}
        facts |= {"tags": experiment.tags} if experiment.tags else {}
        facts |= {"file": describe_file(origin)} if origin else {}
        facts |= _plugin_facts(experiment)
        facts["folder"] = str(place)
        if complete(Session(context).run("run-started", 1, **facts)):
            _continue_run(writer, store, choices, observer)
    _follow(folder, site, choices, observer)
    return folder


def resume(
    folder: RunFolder, store: Store, *, choices: RunChoices | None = None, observer: Observer | None = None
) -> RunFolder:
    """Go on with a run where its journal ends. Raises as `start`, and RunBusy when it is still going on."""
    check_continuable(folder)
    with RunWriter(folder, _PATIENCE_OF_A_JOB if os.environ.get(JOB) == "1" else PATIENCE) as writer:
        site = _continue_run(writer, store, choices, observer)
    _follow(folder, site, choices, observer)
    return folder


def extend(
    folder: RunFolder,
    store: Store,
    *,
    levels: Mapping[str, Sequence[Scalar]],
    repeat: int | None = None,
    choices: RunChoices | None = None,
    observer: Observer | None = None,
) -> RunFolder:
    """Add levels or repetitions to a run and measure what is new. Raises as `resume`."""
    check_continuable(folder)
    with RunWriter(folder) as writer:
        _load_record(folder)
        write_extension(writer, extend_record(writer, levels, repeat))
        site = _continue_run(writer, store, choices, observer)
    _follow(folder, site, choices, observer)
    return folder


def check_continuable(folder: RunFolder) -> None:
    """Make sure that a run is ours, since its commands are about to be run. Raises UsageError."""
    check_ownership(folder.path, "the run")
    if source := folder.imported_from():
        hint = "read its experiment.yaml; `steelyard run` with that file makes a run of your own"
        raise UsageError(
            f"run {folder.id} was imported from {source}, and its commands are not run", hint=hint
        )


def _load_record(folder: RunFolder) -> RunRecord:
    record = RunRecord(folder)
    if not record.journal or record.journal[0]["kind"] != "run-started":
        hint = f"`steelyard rm {folder.id}` removes its remains"
        raise UsageError(f"run {folder.id} ended before it began; start a new run", hint=hint)
    return record


def _continue_run(
    writer: RunWriter, store: Store, choices: RunChoices | None, observer: Observer | None
) -> NamedSite:
    folder = writer.folder
    record = _load_record(folder)
    experiment = reload_functions(load_experiment(record), folder)
    folder.cancel_file.unlink(missing_ok=True)
    sweep(run=folder.id)
    remove_run_scratch(folder)
    _cancel_jobs(folder)
    # A trial that failed only because its record found no room is made again.
    results = Results(result for result in record.results if result.category != "store-full")
    design = Design(experiment, record.seed)
    writer.write_document(folder.design, describe_design(experiment, design))
    site = choose_site(choices, experiment, record.site)
    _warn_of_changes(record, observer or Observer())
    context = RunContext(
        experiment, design, results, writer, store, site, choices or RunChoices(), observer or Observer()
    )
    if complete(Session(context).run("run-resumed", record.last_number + 1, **_plugin_facts(experiment))):
        return _continue_run(writer, store, choices, observer)
    return site


def _cancel_jobs(folder: RunFolder) -> None:
    """End what the workloads of its last session left in queues; `clean` tells of what cannot be ended."""
    from steelyard.controller.jobs.queues import cancel_left

    cancel_left(lambda left: left.path == folder.path)


def _plugin_facts(experiment: Experiment) -> dict[str, Any]:
    """The plug-ins beside the experiment, for the journal."""
    plugins = describe_plugins(experiment)
    return {"plugins": plugins} if plugins else {}


def _warn_of_changes(record: RunRecord, observer: Observer) -> None:
    """Say which of the files with which the run began are other ones by now."""
    opening = record.journal[0]
    change = describe_change(opening.get("file"), record.folder.experiment)
    for text in (change, *describe_plugin_changes(opening.get("plugins"))):
        if text:
            observer.on_warning(text)


def _follow(
    folder: RunFolder, site: NamedSite, choices: RunChoices | None, observer: Observer | None
) -> None:
    """Watch a run that goes on in a job, unless the caller would rather not. Raises as `start`."""
    if not needs_job(site) or (choices and choices.jobs.detach):
        return
    from steelyard.controller.jobs.follow import Follower

    complete(Follower(folder, observer or Observer()).follow())
