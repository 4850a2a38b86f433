"""The events of one trial, with what they may act on there."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from steelyard.controller.attempt import Attempt
from steelyard.controller.context import RunContext
from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.resources import SessionResources
from steelyard.controller.timeline.stages import Stages
from steelyard.controller.timeline.timeline import Timeline
from steelyard.events.base import EventContext
from steelyard.hosts.base import Host
from steelyard.model.keys.roles import Selection
from steelyard.model.keys.timeline import SCRIPT


async def make_timeline(
    context: RunContext,
    resources: SessionResources,
    attempt: Attempt,
    deployed: ReadyServices,
    stages: Stages,
    scope: AsyncExitStack,
) -> Timeline:
    """The timeline of a trial, each of whose events could happen here. Raises TrialFailure."""
    experiment, placement = context.experiment, resources.placement

    def select_hosts(text: str) -> tuple[Host, ...]:
        return tuple(slot.host for slot in placement.select_slots(Selection.parse(text)))

    runs = any(entry.do in ("run", SCRIPT) for entry in experiment.timeline)
    event_context = EventContext(
        services={service.context.name: service for service in deployed.services},
        hosts=select_hosts,
        scratch={
            host.name: await scope.enter_async_context(
                resources.scratches.get_scratch(host).make_directory("events")
            )
            for host in (placement.hosts if runs else ())
        },
        logs=context.folder.trial(attempt.number) / "events",
        lasting_services=frozenset(name for name, use in experiment.services.items() if use.keep != "trial"),
        known=deployed.known,
    )
    if resources.deployment:
        snapshots = resources.deployment.snapshots
        event_context = replace(
            event_context,
            take_snapshot=snapshots.save_as_last,
            recover_snapshot=snapshots.recover_last,
        )
    timeline = Timeline(context, attempt, event_context, stages)
    timeline.check()
    return timeline
