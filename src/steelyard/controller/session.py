"""One session of a run, from the first line of the journal to the last.

A session acquires the machine's turn, the site's hosts and their scratch, and releases them in reverse order
however it ends. Signals that mean "stop" (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2) end it in good order.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard import __version__
from steelyard.controller.choices import RunChoices, is_split, needs_job
from steelyard.controller.control.server import ControlServer
from steelyard.controller.control.socket import find_own_address
from steelyard.controller.deployment.deployment import Deployment
from steelyard.controller.deployment.snapshots import SnapshotOrigin
from steelyard.controller.jobs.limit import LATE, TimeLimit
from steelyard.controller.machine.collecting import Collecting
from steelyard.controller.machine.environment import gather_all
from steelyard.controller.machine.machine_lock import MachineLock
from steelyard.controller.machine.watch import TrialWatcher
from steelyard.controller.observer import Observer
from steelyard.controller.overhead import OverheadMeter
from steelyard.controller.placement import Placement
from steelyard.controller.scratch import Scratch, Scratches, choose_scratch, scratch_warnings
from steelyard.controller.signals import TIME_IS_SHORT, StopSignal, catch_signals
from steelyard.controller.trial.runner import TrialRunner
from steelyard.controller.trial_loop import TrialLoop
from steelyard.design import Design, Results
from steelyard.errors import HostError, HostLost, Interrupted, SteelyardError
from steelyard.hosts.base import Host
from steelyard.hosts.lease import MinderError
from steelyard.hosts.local import LocalHost
from steelyard.hosts.sweep import sweep
from steelyard.hosts.tasks import run_tasks, wait_first
from steelyard.hosts.token import Token
from steelyard.model.experiment import Experiment
from steelyard.model.keys.roles import RoleClaim, count_needed_hosts
from steelyard.services.kit.address import resolve_address
from steelyard.spec.bind import list_tools
from steelyard.spec.checks.omission import omissions
from steelyard.spec.placement import count_used_hosts, host_counts, trim_claims
from steelyard.spec.sites import NamedSite
from steelyard.store.layout import Store
from steelyard.store.writer import RunWriter

FAR_SCRATCH = PurePosixPath("/var/tmp")  # noqa: S108 - what is made there is ours, with a name unknown before
"""Where test data go on a host far away that names no place: on its disk, unlike /tmp on many.

No directory in between, which another account could make first.
"""


async def _resolve_address(host: Host) -> None:
    """Servers tell each other and their clients where they are, and some only know addresses in numbers."""
    with suppress(HostError):
        host.address = await resolve_address(host)


class Session:
    """What a run holds while it goes on."""

    def __init__(
        self,
        experiment: Experiment,
        design: Design,
        results: Results,
        writer: RunWriter,
        store: Store,
        site: NamedSite,
        choices: RunChoices | None,
        observer: Observer | None,
        origin: Path | None,
    ) -> None:
        self.experiment, self.design, self.results, self.writer = experiment, design, results, writer
        self.store, self.site, self.choices, self.origin = store, site, choices or RunChoices(), origin
        self.observer = observer or Observer()
        self.control_server = ControlServer(experiment, writer, self.observer)
        self._overhead = OverheadMeter()
        self._done_before, self._splits = len(results), is_split(choices, site)
        self._part = self._select_part()

    async def run(self, opening: str, first_number: int, **facts: Any) -> None:
        """The session, from the first line in the journal to the last; or the job in which it takes place.

        Raises Interrupted, SteelyardError.
        """
        facts |= {"version": __version__, "done": len(self.results)}
        with catch_signals() as stop:
            self.writer.journal.write(opening, sync=True, **facts)
            try:
                if needs_job(self.site):
                    await self._submit_run()
                else:
                    await self._run_session(first_number, stop)
            except asyncio.CancelledError:
                await self._handle_interrupt(stop)
            except Interrupted:
                raise
            except (HostLost, MinderError) as error:
                # Who ends a job signals all its processes at once, and ours may be the last to be heard.
                if self.site.site.current_job() and await stop.wait_for_signal(within=1.0):
                    await self._handle_interrupt(stop)
                self._end("failed", error.message)
                hint = f"{error.hint}\n`steelyard resume {self.writer.folder.id}` continues it"
                raise type(error)(error.message, hint=hint.strip()) from error
            except Exception as error:
                self._end("failed", error.message if isinstance(error, SteelyardError) else repr(error))
                raise

    async def _run_session(self, first_number: int, stop: StopSignal) -> None:
        async with self._open_trial_loop() as study:
            stop.schedule(study.limit.working_seconds)
            self.observer.on_start(self.writer.folder, study.progress(), self.design.seed)
            ending = await self._run_trials(study, first_number)
            if ending != "time-limit":
                held = await self.control_server.wait_until_stopped()
                ending = ending if held == "complete" else held
            await self.control_server.finish(ending != "time-limit" and self._has_no_failures())
        if ending == "time-limit":
            await self._pause(LATE)
        elif ending == "complete" and self.design.next(self.results):
            self._part = self._select_part()
            await self._pause("the next cells need a different number of hosts", chain=True)
        else:
            self._end("complete", ending)

    async def _run_trials(self, study: TrialLoop, first_number: int) -> str:
        """All trials; those that are still to be kept when they do not end in time are ended for that."""
        if not any(use.save and use.save.when == "always" for use in self.experiment.services.values()):
            return await study.run(first_number)
        async with run_tasks(study.run(first_number), self.control_server.wait_for_deadline()) as (
            trials,
            late,
        ):
            return "time-limit" if (await wait_first((trials, late))) is late else trials.result()

    def _has_no_failures(self) -> bool:
        return all(result.status == "ok" for result in self.results)

    async def _handle_interrupt(self, stop: StopSignal) -> None:
        task = asyncio.current_task()
        if task:
            task.uncancel()  # what follows is short, and has to be said
        if who := self.writer.folder.canceller():
            self._end("cancelled", f"{who} cancelled it")
            raise self._make_interruption(f"was cancelled by {who}")
        if stop.signal in TIME_IS_SHORT and (self.site.site.current_job() or self.choices.seconds):
            await self._pause(LATE)
        if failure := await self.site.site.describe_failure():
            self._end("failed", failure)
            raise HostLost(failure, hint=f"`steelyard resume {self.writer.folder.id}` continues it")
        self._end("interrupted", "a signal ended it")
        raise self._make_interruption("was interrupted")

    async def _pause(self, reason: str, *, chain: bool = False) -> None:
        """End this session, and submit the job that goes on where that is wanted. Raises Interrupted."""
        if not (chain or self.choices.jobs.chain):
            self._end("interrupted", reason)
            raise self._make_interruption(f"was interrupted: {reason}")
        if len(self.results) == self._done_before:
            self._end("failed", f"{reason}, and no trial finished in it")
            raise HostError(
                f"run {self.writer.folder.id}: {reason}, and no trial finished in it",
                hint="give the site's jobs a longer `time`",
            )
        facts = await self._submit_job()
        self._end("interrupted", reason, next=facts["job"])
        self._note_job(facts)
        raise Interrupted(f"run {self.writer.folder.id}: {reason}; job {facts['job']} continues it")

    def _make_interruption(self, what: str) -> Interrupted:
        hint = f"`steelyard resume {self.writer.folder.id}` continues it"
        return Interrupted(f"run {self.writer.folder.id} {what}", hint=hint)

    def _end(self, state: str, reason: str, **more: Any) -> None:
        try:
            more |= {"overhead": self._overhead.facts(), **self._counts()}
            self.writer.journal.write("run-ended", sync=True, state=state, reason=reason, **more)
        finally:
            self.observer.on_end(self.writer.folder, state, reason)

    def _counts(self) -> dict[str, int]:
        failed = sum(result.status == "failed" for result in self.results)
        return {"done": len(self.results), "failed": failed}

    async def _submit_run(self) -> None:
        self._note_job(await self._submit_job())

    async def _submit_job(self) -> dict[str, Any]:
        """Submit the job that the run goes on in; imported here, as most runs need no scheduler."""
        from steelyard.controller.jobs.run_job import submit

        return await submit(
            self.writer.folder, self.store, self.site, count_needed_hosts(self._claims()), self.choices
        )

    def _note_job(self, facts: Mapping[str, Any]) -> None:
        options = list(self.choices.jobs.options)
        self.writer.journal.write("run-submitted", sync=True, **facts, options=options, **self._counts())

    def _select_part(self) -> Design:
        """The cells of this session: all; with `split` those with the fewest hosts that are not done."""
        if not self._splits:
            return self.design
        left = [cell for cell in self.design.cells if self.design.restrict([cell]).next(self.results)]
        counts = host_counts(self.experiment, left)
        of_size = [cell for cell in left if count_used_hosts(self.experiment, cell) in counts[:1]]
        return self.design.restrict(of_size) if of_size else self.design

    def _claims(self) -> Mapping[str, RoleClaim]:
        """What the roles take: as declared; with `split` no more than this session's cells use."""
        if not self._splits:
            return self.experiment.claims
        return trim_claims(self.experiment, self._part.cells)

    @asynccontextmanager
    async def _open_trial_loop(self) -> AsyncIterator[TrialLoop]:
        token = Token.of(self.writer.folder.id)
        control = {"run": token.run, "pid": os.getpid(), "token": str(token)}
        self.writer.announce(**control)
        async with AsyncExitStack() as scope:
            sweep()
            turn = await scope.enter_async_context(self._make_machine_lock())
            log = self.writer.folder.minder_log
            hosts = await scope.enter_async_context(self._lease_hosts(token, log))
            scope.push_async_callback(self._overhead.read_agents, hosts)
            lacking = scratch_warnings(choose_scratch(self.choices.scratch), self.site.site)
            before = (*self.site.notes, *self.site.site.warnings(), *lacking)
            for text in (*before, *omissions(self.experiment, self._part.cells)):
                self._warn(text)
            if self.experiment.services:
                await asyncio.gather(*map(_resolve_address, hosts))
            if self.control_server.is_wanted:
                listening = self.control_server.accept_requests(self._address(hosts), self._warn, **control)
                await scope.enter_async_context(listening)
            placement = Placement.of(self._claims(), hosts)
            scratches = Scratches(
                self._make_scratch(host, token.run, len(hosts) == 1) for host in placement.hosts
            )
            scope.push_async_callback(scratches.close)
            await scratches.open()
            collecting = Collecting(self.experiment, placement, self.writer.folder)
            await collecting.check_tools()
            watch = TrialWatcher(placement.hosts, collecting, turn, self._warn)
            await self._record_environment(placement, scratches)
            origin = SnapshotOrigin(self.site.name, self.site.site.current_job() or "")
            deployment = Deployment(
                self.experiment, placement, scratches, self.writer.folder, self.control_server.note, origin
            )
            scope.push_async_callback(deployment.close)
            runner = TrialRunner(
                self.experiment,
                placement,
                self.writer,
                scratches,
                watch,
                deployment,
                self.design.seed,
                self.site.site.launcher(),
            )
            limit = TimeLimit(await self._seconds_left())
            self.control_server.attach_deployment(placement, deployment, limit)
            yield TrialLoop(
                self.experiment, self._part, self.results, runner, self.writer, self.observer, limit
            )

    def _make_machine_lock(self) -> MachineLock:
        return MachineLock(self.observer, parallel=self.choices.parallel, run=self.writer.folder.id)

    async def _seconds_left(self) -> float | None:
        left = await self.site.site.fetch_seconds_left()
        return self.choices.seconds if left is None else left

    def _address(self, hosts: Sequence[Host]) -> str:
        """Where commands reach this controller: in a job from other machines, else from this one only."""
        if not self.site.site.current_job():
            return "127.0.0.1"
        here = next((host.address for host in hosts if isinstance(host, LocalHost)), "")
        return find_own_address(here)

    def _lease_hosts(self, token: Token, log: Path) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Hosts of the site for all roles."""
        return self.site.site.lease(token, log, count_needed_hosts(self._claims()))

    def _make_scratch(self, host: Host, run: str, alone: bool) -> Scratch:
        chosen = choose_scratch(self.choices.scratch)
        near = PurePosixPath(chosen or self.store.scratch.absolute())
        base = near if chosen or host.shares_files else host.scratch_base() or FAR_SCRATCH
        return Scratch(host, base, run, self.experiment, self._note_scratch, alone=alone)

    def _warn(self, text: str) -> None:
        self.writer.journal.write("warning", text=text)
        self.observer.on_warning(text)

    def _note_scratch(self, host: Host, path: PurePosixPath) -> None:
        facts = {} if host.shares_files else {"host": host.name}
        self.writer.journal.write("scratch", sync=True, path=str(path), mark=host.mark.digest, **facts)

    async def _record_environment(self, placement: Placement, scratches: Scratches) -> None:
        needs = list_tools(self.experiment, self.design.cells)
        facts = await gather_all(placement, needs, scratches, self.origin)
        self.writer.write_document(self.writer.folder.environment, {"site": self.site.name, **facts})
