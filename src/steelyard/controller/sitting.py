"""One sitting of a run, from the first line of the journal to the last: start it, or go on with it.

A sitting acquires the run's lock, a minder, the host and its scratch, and releases them in reverse order
however it ends. Signals that mean "stop" (SIGINT, SIGTERM, SIGHUP, SIGUSR1) end it in good order.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard import __version__
from steelyard.controller.clean import remove_scratch_of
from steelyard.controller.crew import Crew
from steelyard.controller.environment import gather_all
from steelyard.controller.loop import complete
from steelyard.controller.observer import Observer
from steelyard.controller.scratch import Scratch, Scratches
from steelyard.controller.study import Study
from steelyard.controller.trial import TrialRunner
from steelyard.controller.turn import Turn
from steelyard.controller.watch import Watch
from steelyard.design import Design, Results
from steelyard.errors import Interrupted, SteelyardError, UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.requirement import Requirement
from steelyard.model.roles import assigned, needed
from steelyard.model.trial import Scalar
from steelyard.remote.base import Host
from steelyard.remote.sweep import sweep
from steelyard.remote.token import Token
from steelyard.sites.base import Site
from steelyard.spec.bind import workload_class
from steelyard.spec.change import extended
from steelyard.spec.check import declared_metrics
from steelyard.spec.load import checked_source
from steelyard.spec.sites import NamedSite, resolve
from steelyard.spec.source import read
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import RunRecord
from steelyard.store.writer import RunWriter

FAR_SCRATCH = PurePosixPath("/var/tmp/steelyard")  # noqa: S108 - its directories are made 0700, and marked
"""Where test data go on a host far away that names no place: on its disk, unlike /tmp on many."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line may decide about a sitting.

    `scratch`: the directory for test data, by default in the store. `beside`: do not wait for another run
    on this machine but run beside it, each trial marked as disturbed.
    """

    site: str | Site[Any] | None = None
    scratch: Path | None = None
    beside: bool = False


def start(
    experiment: Experiment,
    text: str,
    store: Store,
    *,
    choices: Choices | None = None,
    observer: Observer | None = None,
    origin: Path | None = None,
) -> RunFolder:
    """Run a checked experiment. `text` is kept as `experiment.yaml`; `origin` is its folder, for git.

    Raises Interrupted when a signal ended it, SteelyardError when it could not be carried out; either way
    what had finished is in the store.
    """
    site = chosen_site(choices, experiment)
    folder = store.create(experiment.experiment)
    seed = experiment.seed if experiment.seed is not None else secrets.randbelow(2**31)
    with RunWriter(folder) as writer:
        design = Design(experiment, seed)
        writer.text(folder.experiment, text.rstrip("\n"))
        writer.document(folder.design, _described(experiment, design))
        sitting = Sitting(experiment, design, Results(), writer, store, site, choices, observer, origin)
        facts = {"run": folder.id, "experiment": experiment.experiment, "seed": seed, "site": site.name}
        complete(sitting.hold("run-started", 1, **facts))
    return folder


def resume(
    folder: RunFolder, store: Store, *, choices: Choices | None = None, observer: Observer | None = None
) -> RunFolder:
    """Go on with a run where its journal ends. Raises as `start`, and RunBusy when it is still going on."""
    with RunWriter(folder) as writer:
        _go_on(writer, store, choices, observer)
    return folder


def extend(
    folder: RunFolder,
    store: Store,
    *,
    levels: Mapping[str, Sequence[Scalar]],
    repeat: int | None = None,
    choices: Choices | None = None,
    observer: Observer | None = None,
) -> RunFolder:
    """Add levels or repetitions to a run and measure what is new. Raises as `resume`."""
    with RunWriter(folder) as writer:
        record = _begun(folder)
        _, text = extended(record.experiment_text, str(folder.experiment), levels, repeat)
        writer.journal.write("run-extended", sync=True, before=record.experiment_text, after=text)
        writer.text(folder.experiment, text.rstrip("\n"), sync=True)
        _go_on(writer, store, choices, observer)
    return folder


def _begun(folder: RunFolder) -> RunRecord:
    record = RunRecord(folder)
    if not record.journal or record.journal[0]["kind"] != "run-started":
        hint = f"`steelyard rm {folder.id}` removes what there is of it"
        raise UsageError(f"run {folder.id} was ended before it began; start it anew", hint=hint)
    return record


def _go_on(writer: RunWriter, store: Store, choices: Choices | None, observer: Observer | None) -> None:
    folder = writer.folder
    record = _begun(folder)
    experiment = checked_source(read(record.experiment_text, str(folder.experiment)))
    sweep(run=folder.id)
    remove_scratch_of(folder, store)
    # A trial that failed only because its record found no room is made again.
    results = Results(result for result in record.results if result.category != "store-full")
    design = Design(experiment, record.seed)
    writer.document(folder.design, _described(experiment, design))
    site = chosen_site(choices, experiment, record.site)
    sitting = Sitting(experiment, design, results, writer, store, site, choices, observer, None)
    complete(sitting.hold("run-resumed", record.last_number + 1))


class Sitting:
    """What a run holds while it goes on."""

    def __init__(
        self,
        experiment: Experiment,
        design: Design,
        results: Results,
        writer: RunWriter,
        store: Store,
        site: NamedSite,
        choices: Choices | None,
        observer: Observer | None,
        origin: Path | None,
    ) -> None:
        self.experiment, self.design, self.results, self.writer = experiment, design, results, writer
        self.store, self.site, self.choices, self.origin = store, site, choices or Choices(), origin
        self.observer = observer or Observer()

    async def hold(self, opening: str, first_number: int, **facts: Any) -> None:
        """Acquire, study, release; its first line in the journal, and its last, however it ends."""
        with _interruptible():
            facts |= {"version": __version__, "done": len(self.results)}
            self.writer.journal.write(opening, sync=True, **facts)
            try:
                async with self._study() as study:
                    self.observer.started(self.writer.folder, study.progress(), self.design.seed)
                    reason = await study.run(first_number)
                self._end("complete", reason)
            except asyncio.CancelledError:
                self._end("interrupted", "a signal ended it")
                hint = f"`steelyard resume {self.writer.folder.id}` goes on with it"
                raise Interrupted(f"run {self.writer.folder.id} was interrupted", hint=hint) from None
            except Exception as error:
                self._end("failed", error.message if isinstance(error, SteelyardError) else repr(error))
                raise

    def _end(self, state: str, reason: str) -> None:
        failed = sum(result.status == "failed" for result in self.results)
        counts = {"done": len(self.results), "failed": failed}
        try:
            self.writer.journal.write("run-ended", sync=True, state=state, reason=reason, **counts)
        finally:
            self.observer.ended(self.writer.folder, state, reason)

    @asynccontextmanager
    async def _study(self) -> AsyncIterator[Study]:
        token = Token.mine(self.writer.folder.id)
        self.writer.announce(run=token.run, pid=os.getpid(), token=str(token))
        async with AsyncExitStack() as scope:
            sweep()
            turn = await scope.enter_async_context(Turn(self.observer, beside=self.choices.beside))
            log = self.writer.folder.minder_log
            hosts = await scope.enter_async_context(self._hosts(token, log))
            crew = Crew.of(self.experiment.claims, hosts)
            scratches = Scratches(self._scratch(host, token.run, len(hosts) == 1) for host in crew.hosts)
            scope.push_async_callback(scratches.close)
            await scratches.open()
            watch = Watch(crew.hosts, self.writer.folder, self.experiment.telemetry, turn, self._warn)
            runner = TrialRunner(self.experiment, crew, self.writer, scratches, watch, self.design.seed)
            await self._environment(crew, scratches)
            yield Study(self.experiment, self.design, self.results, runner, self.writer, self.observer)

    def _hosts(self, token: Token, log: Path) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Hosts of the site for all roles."""
        return self.site.site.lease(token, log, needed(self.experiment.claims))

    def _scratch(self, host: Host, run: str, alone: bool) -> Scratch:
        chosen = self.choices.scratch or os.environ.get("STEELYARD_SCRATCH")
        near = PurePosixPath(Path(chosen or self.store.scratch).absolute())
        base = near if chosen or host.shares_files else host.scratch_base() or FAR_SCRATCH
        return Scratch(host, base, run, self.experiment, self._note_scratch, alone=alone)

    def _warn(self, text: str) -> None:
        self.writer.journal.write("warning", text=text)
        self.observer.warned(text)

    def _note_scratch(self, host: Host, path: PurePosixPath) -> None:
        facts = {} if host.shares_files else {"host": host.name}
        self.writer.journal.write("scratch", sync=True, path=str(path), **facts)

    async def _environment(self, crew: Crew, scratches: Scratches) -> None:
        needs = [tool for use in self.experiment.workload for tool in workload_class(use.use).needs]
        found = await gather_all(crew, needs, scratches, self.origin)
        self.writer.document(self.writer.folder.environment, {"site": self.site.name, **found})


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turn the signals that mean "stop" into a cancellation of this task, once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is None:
        raise RuntimeError("no task to interrupt")
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            task.cancel()

    try:
        for number in SIGNALS:
            loop.add_signal_handler(number, stop)
    except (ValueError, RuntimeError):
        pass  # not the main thread, as in some notebooks; there the notebook interrupts
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


def chosen_site(choices: Choices | None, experiment: Experiment, before: str | None = None) -> NamedSite:
    """Where to run: the caller's word wins over `before`, where the run began, and that over the file's.

    Raises UnknownName, and UsageError when it cannot fill the roles: before anything is started or paid for.
    """
    chosen = (choices.site if choices else None) or before or experiment.site or "local"
    named = NamedSite(type(chosen).__name__, chosen) if isinstance(chosen, Site) else resolve(chosen)
    there = named.site.size()
    if there is not None:
        assigned(experiment.claims, range(there))
    return named


def _described(experiment: Experiment, design: Design) -> dict[str, Any]:
    """What analysis needs to know of the experiment, years later and without its plug-ins."""
    metrics = declared_metrics(experiment, design.cells).values()
    required = [
        {"where": entry.where, **_plain(Requirement.parse(entry.that))} for entry in experiment.require
    ]
    return {
        "experiment": experiment.experiment,
        "about": experiment.about,
        "seed": design.seed,
        "workload": [use.model_dump(mode="json") for use in experiment.workload],
        "before_each": experiment.as_file().get("before_each", []),
        "order": experiment.order,
        "repeat": experiment.repeat.model_dump(mode="json"),
        "outliers": experiment.outliers,
        "covers": list(experiment.covers),
        "tags": dict(experiment.tags),
        "metrics": [_plain(metric) for metric in metrics],
        "require": required,
        "cells": [dict(cell.parameters) for cell in design.cells],
    }


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
