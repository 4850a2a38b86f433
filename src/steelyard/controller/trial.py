"""The life of one trial: scratch, preparation, phases, judgement, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.controller.phases import Ended, PhaseRunner
from steelyard.controller.prepare import Preparation
from steelyard.controller.scratch import Scratch
from steelyard.controller.watch import Watch
from steelyard.errors import HostError, StoreFull, TrialFailure
from steelyard.model.experiment import Experiment, WorkloadUse
from steelyard.model.metric import Mark
from steelyard.model.trial import Result, Trial
from steelyard.remote.base import Host
from steelyard.remote.lease import MinderError
from steelyard.spec.bind import bound_all
from steelyard.store.writer import RunWriter

ROLE = "host-0"
LITTLE = 128 * 1024


@dataclass
class Account:
    """What is known of a trial so far; whatever happens, this much is recorded."""

    ended: list[Ended] = field(default_factory=list)
    prepared: Mapping[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, Mapping[float, int]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failure: TrialFailure | None = None

    def take(self, ended: Ended, prefix: str) -> None:
        """Add what a phase said."""
        self.ended.append(ended)
        if ended.reading:
            self.metrics |= {prefix + name: value for name, value in ended.reading.values.items()}
            self.histograms |= {prefix + name: bins for name, bins in ended.reading.histograms.items()}
            self.facts[ended.name] = dict(ended.reading.facts)
            self.marks += ended.reading.marks


class TrialRunner:
    """Executes trials on one host and writes their records."""

    def __init__(
        self, experiment: Experiment, host: Host, writer: RunWriter, scratch: Scratch, watch: Watch, seed: int
    ) -> None:
        self.experiment, self.host, self.writer = experiment, host, writer
        self.scratch, self.watch, self.seed = scratch, watch, seed

    async def execute(self, trial: Trial, number: int, attempt: int) -> tuple[Result, Account]:
        """Run a trial and record it. A failure of the trial is a result, never raised."""
        began = time.monotonic()
        account = Account()
        self.writer.journal.write(
            "trial-started",
            sync=True,
            trial=number,
            attempt=attempt,
            repetition=trial.repetition,
            parameters=dict(trial.cell.parameters),
        )
        try:
            await self._live(trial, number, account)
        except TrialFailure as failure:
            account.failure = await self._cause(failure)
        except MinderError:
            raise  # nothing can be started any more; resume makes this trial again
        except (StoreFull, HostError) as error:
            category = "store-full" if isinstance(error, StoreFull) else "host-failed"
            account.failure = TrialFailure(category, error.message)
        if account.failure and account.failure.category == "store-full":
            self.writer.shrink(number)
        result = _result(trial, account, time.monotonic() - began)
        self._record(result, account, number)
        return result, account

    async def _live(self, trial: Trial, number: int, account: Account) -> None:
        workloads = bound_all(self.experiment, trial.cell)
        async with AsyncExitStack() as scope:
            places = [
                await scope.enter_async_context(self.scratch.of(w, trial, number)) for _, w in workloads
            ]
            runner = PhaseRunner(self.host, self._folder(number), seed=self._seed_of(trial))

            async def all_phases(prefix: str) -> None:
                for (use, workload), place in zip(workloads, places, strict=True):
                    limit = self.experiment.timeout
                    name = prefix + (f"{use.phase}-" if use.phase else "")
                    tell = _no_account if prefix else self._taker(use, account)
                    await runner.run(use, workload, place, prefix=name, limit=limit, tell=tell)

            await self._prepare(places[0], number, account, all_phases)
            told = [workload.seconds() for _, workload in workloads]
            expected = None if None in told else sum(seconds or 0.0 for seconds in told)
            watch = self.watch.over(number, trial.cell.key, expected)
            watched = await scope.enter_async_context(watch)
            await all_phases("")
            self._judge(account, await watched.marks(sum(ended.exit.user for ended in account.ended)))

    def _judge(self, account: Account, marks: list[Mark]) -> None:
        """Disturbed trials do not count, unless the file says that they do; then that is a warning."""
        if self.experiment.disturbed == "exclude":
            account.marks += marks
        elif marks:
            account.facts["disturbed_and_counted"] = [mark.reason for mark in marks]
            account.warnings.append(
                "some trials were disturbed and count all the same, as 'disturbed: include' asks"
            )

    def _taker(self, use: WorkloadUse, account: Account) -> Callable[[Ended], None]:
        return lambda ended: account.take(ended, self.experiment.metric_prefix(use))

    async def _prepare(self, place: PurePosixPath, number: int, account: Account, all_phases: Any) -> None:
        async def warm_up(times: int) -> None:
            for turn in range(1, times + 1):
                await all_phases(f"warm-up-{turn}-")

        if self.experiment.before_each:
            steps = Preparation(self.host, place, warm_up=warm_up, folder=self._folder(number))
            account.prepared, account.warnings = await steps.carry_out(self.experiment.before_each)

    def _folder(self, number: int) -> Any:
        def make(phase: str) -> Path:
            return self.writer.phase_folder(number, ROLE, phase)

        return make

    def _seed_of(self, trial: Trial) -> int:
        """A seed for the tool, the same whenever this very trial is run."""
        return (self.seed * 1_000_003 + trial.repetition * 7919 + _stable(trial.cell.key)) % 2**31

    async def _cause(self, failure: TrialFailure) -> TrialFailure:
        """A crash may have a cause that the tool did not name: a full store or test directory."""
        if failure.category not in ("crashed", "unreadable-output", "disk-full"):
            return failure
        for path, category in ((self.writer.folder.path, "store-full"), (self.scratch.base, "disk-full")):
            if await self.host.free_space(PurePosixPath(path)) < LITTLE:
                return TrialFailure(category, f"no space left in {path}; {failure.message}")
        return failure

    def _record(self, result: Result, account: Account, number: int) -> None:
        """The journal's line counts; the two documents beside it only add detail."""
        folder = self.writer.folder.trial(number)
        document = {
            "trial": number,
            "parameters": dict(result.trial.cell.parameters),
            "repetition": result.trial.repetition,
            "prepared": dict(account.prepared),
            "phases": [ended.document() for ended in account.ended],
        }
        try:
            self.writer.directory(folder)
            self.writer.document(folder / "trial.json", document)
            if account.metrics or account.histograms:
                bins = {name: {str(k): n for k, n in b.items()} for name, b in account.histograms.items()}
                content = {"values": account.metrics, "histograms": bins}
                self.writer.document(folder / "metrics.json", content, sync=bool(bins))
        except StoreFull as error:
            account.warnings.append(f"trial {number}: {error.message}")


def _no_account(_: Ended) -> None:
    """What warms up is not measured."""


def _result(trial: Trial, account: Account, seconds: float) -> Result:
    failure = account.failure
    if failure:
        return Result(trial, "failed", seconds, {}, tuple(account.marks), failure.category)  # type: ignore[arg-type]
    return Result(trial, "ok", seconds, dict(account.metrics), tuple(account.marks))


def _stable(text: str) -> int:
    """A number from a text that is the same in every process, unlike `hash`."""
    value = 0
    for byte in text.encode(errors="surrogatepass"):
        value = (value * 131 + byte) % 2**31
    return value
