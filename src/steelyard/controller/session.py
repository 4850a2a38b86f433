"""One session of a run, from the first line of the journal to the last.

Signals that mean "stop" (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2) end it in good order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from steelyard import __version__
from steelyard.controller.choices import needs_job
from steelyard.controller.context import RunContext
from steelyard.controller.control.server import ControlServer
from steelyard.controller.control.steering import Steering
from steelyard.controller.jobs.limit import LATE
from steelyard.controller.overhead import OverheadMeter
from steelyard.controller.part import select_part
from steelyard.controller.resources import acquire_resources
from steelyard.controller.signals import TIME_IS_SHORT, StopSignal, catch_signals
from steelyard.controller.traces import complete_traces
from steelyard.controller.trial.runner import TrialRunner
from steelyard.controller.trial_loop import TrialLoop
from steelyard.errors import HostError, HostLost, Interrupted, SteelyardError
from steelyard.hosts.minder_channel import MinderError
from steelyard.hosts.tasks import run_tasks, wait_first

if TYPE_CHECKING:
    from steelyard.controller.control.holding import HeldServices


class Session:
    """What happens between the beginning of a run, or of its continuation, and its end."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self._server = ControlServer(context)
        self._held = _hold_services(context, self._server)
        self._overhead = OverheadMeter()
        self._done_before = len(context.results)
        self._part = select_part(context)

    async def run(self, opening: str, first_number: int, **facts: Any) -> bool:
        """The session, from the first line in the journal to the last; or the job in which it takes place.

        Whether the run was extended meanwhile, so that it goes on. Raises Interrupted, SteelyardError.
        """
        facts |= {"version": __version__, "done": len(self.context.results)}
        with catch_signals() as stop:
            self.context.note(opening, sync=True, **facts)
            try:
                if needs_job(self.context.site):
                    self._note_job(await self._submit_job())
                    return False
                return await self._measure(first_number, stop)
            except asyncio.CancelledError:
                await self._handle_interrupt(stop)
            except Interrupted:
                raise
            except (HostLost, MinderError) as error:
                # Who ends a job signals all its processes at once, and ours may be the last to be heard.
                if self.context.site.site.current_job() and await stop.wait_for_signal(within=1.0):
                    await self._handle_interrupt(stop)
                self._end("failed", error.message)
                raise type(error)(
                    error.message, hint=f"{error.hint}\n{self._continue_hint}".strip()
                ) from error
            except Exception as error:
                self._end("failed", error.message if isinstance(error, SteelyardError) else repr(error))
                raise

    async def _measure(self, first_number: int, stop: StopSignal) -> bool:
        context = self.context
        steering = Steering(context, self._server, stop)
        async with acquire_resources(context, self._part, self._server, self._overhead) as resources:
            stop.schedule(resources.limit.working_seconds)
            steering.attach_resources(resources.lock, resources.deployment, resources.limit)
            if self._held:
                self._held.attach_deployment(resources.placement, resources.deployment, resources.limit)
            runner = TrialRunner(context, resources)
            trials = TrialLoop(context, self._part.design, runner, resources.limit, steering)
            context.observer.on_start(context.folder, trials.progress(), context.design.seed)
            ending = await self._run_trials(trials, first_number)
            if ending == "extended":
                return True
            if not any(use.save for use in context.experiment.services.values()):
                # Services that are held end in time by themselves; on a busy machine, both moments are one.
                stop.unschedule()
            if self._held:
                ending = await self._stay(self._held, ending)
            stop.unschedule()
        await complete_traces(context)
        if ending == "time-limit":
            await self._pause(LATE)
        elif ending == "complete" and context.design.next(context.results):
            self._part = select_part(context)
            await self._pause("the next cells need a different number of hosts", chain=True)
        else:
            self._end("complete", ending)
        return False

    async def _run_trials(self, trials: TrialLoop, first_number: int) -> str:
        """All trials; those that are still to be kept when they do not end in time are ended for that."""
        uses = self.context.experiment.services.values()
        if not self._held or not any(use.save and use.save.when == "always" for use in uses):
            return await trials.run(first_number)
        async with run_tasks(trials.run(first_number), self._held.wait_for_deadline()) as (work, late):
            return "time-limit" if (await wait_first((work, late))) is late else work.result()

    async def _stay(self, services: HeldServices, ending: str) -> str:
        """Hold the services as long as the experiment asks, and keep their data; how it ended."""
        if ending != "time-limit":
            held = await services.wait_until_stopped()
            ending = ending if held == "complete" else held
        sound = all(result.status == "ok" for result in self.context.results)
        await services.finish(ending != "time-limit" and sound)
        return ending

    async def _handle_interrupt(self, stop: StopSignal) -> NoReturn:
        task = asyncio.current_task()
        if task:
            task.uncancel()  # what follows is short, and has to be said
        if who := self.context.folder.canceller():
            self._end("cancelled", f"{who} cancelled it")
            raise self._make_interruption(f"was cancelled by {who}")
        site = self.context.site.site
        if stop.signal in TIME_IS_SHORT and (site.current_job() or self.context.choices.seconds):
            await self._pause(LATE)
        if failure := await site.describe_failure():
            self._end("failed", failure)
            raise HostLost(failure, hint=self._continue_hint)
        self._end("interrupted", "a signal ended it")
        raise self._make_interruption("was interrupted")

    async def _pause(self, reason: str, *, chain: bool = False) -> NoReturn:
        """End this session, and submit the job that goes on where that is wanted. Raises Interrupted."""
        run = self.context.folder.id
        if not (chain or self.context.choices.jobs.chain):
            self._end("interrupted", reason)
            raise self._make_interruption(f"was interrupted: {reason}")
        if len(self.context.results) == self._done_before:
            failure = f"{reason}, and no trial finished in it"
            self._end("failed", failure)
            raise HostError(f"run {run}: {failure}", hint="give the site's jobs a longer `time`")
        facts = await self._submit_job()
        self._end("interrupted", reason, next=facts["job"])
        self._note_job(facts)
        raise Interrupted(f"run {run}: {reason}; job {facts['job']} continues it")

    @property
    def _continue_hint(self) -> str:
        return f"`steelyard resume {self.context.folder.id}` continues it"

    def _make_interruption(self, what: str) -> Interrupted:
        return Interrupted(f"run {self.context.folder.id} {what}", hint=self._continue_hint)

    def _end(self, state: str, reason: str, **more: Any) -> None:
        try:
            more |= {"overhead": self._overhead.facts(), **self.context.counts}
            self.context.note("run-ended", sync=True, state=state, reason=reason, **more)
        finally:
            self.context.observer.on_end(self.context.folder, state, reason)

    async def _submit_job(self) -> dict[str, Any]:
        """Submit the job that the run goes on in; imported here, as most runs need no scheduler."""
        from steelyard.controller.jobs.run_job import submit

        context = self.context
        count = self._part.host_count
        return await submit(context.folder, context.store, context.site, count, context.choices)

    def _note_job(self, facts: Mapping[str, Any]) -> None:
        options = list(self.context.choices.jobs.options)
        self.context.note("run-submitted", sync=True, **facts, options=options, **self.context.counts)


def _hold_services(context: RunContext, server: ControlServer) -> HeldServices | None:
    """Who keeps services for others, where there are any that somebody may ask for."""
    if not (context.experiment.services or context.experiment.hold or context.is_cluster):
        return None
    from steelyard.controller.control.holding import HeldServices

    return HeldServices(context, server)
