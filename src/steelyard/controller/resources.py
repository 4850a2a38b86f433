"""What a session of a run acquires, and releases in reverse order however it ends.

What an experiment does not use is not made: most runs need no services, and so nobody who deploys them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from steelyard.controller.choices import list_needs
from steelyard.controller.context import RunContext
from steelyard.controller.control.server import ControlServer
from steelyard.controller.control.socket import find_own_address
from steelyard.controller.jobs.limit import TimeLimit
from steelyard.controller.machine.collecting import Collecting
from steelyard.controller.machine.environment import gather_all
from steelyard.controller.machine.images import bring_images
from steelyard.controller.machine.machine_lock import MachineLock
from steelyard.controller.machine.remains import remove_remains, sweep_remains
from steelyard.controller.machine.watch import TrialWatcher
from steelyard.controller.overhead import OverheadMeter
from steelyard.controller.part import SessionPart
from steelyard.controller.placement import Placement
from steelyard.controller.scratch import FAR_SCRATCH, Scratch, Scratches, choose_scratch, scratch_warnings
from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.hosts.local import LocalHost
from steelyard.hosts.sweep import sweep
from steelyard.hosts.token import Token
from steelyard.model.tool import Tool
from steelyard.spec.bind import list_caveats, list_recipes, list_remains, list_tools
from steelyard.spec.checks.omission import omissions

if TYPE_CHECKING:  # what only some runs use
    from steelyard.controller.deployment.deployment import Deployment


class SessionResources(NamedTuple):
    """What a session has while it goes on. `deployment` is None where the experiment has no services."""

    placement: Placement
    scratches: Scratches
    watch: TrialWatcher
    limit: TimeLimit
    lock: MachineLock
    deployment: Deployment | None = None


@asynccontextmanager
async def acquire_resources(
    context: RunContext, part: SessionPart, server: ControlServer, overhead: OverheadMeter
) -> AsyncIterator[SessionResources]:
    """The machine's turn, the site's hosts and their scratch, for as long as the block lasts.

    `server` answers commands from the beginning; in a job, from the moment that there are hosts. Raises
    SteelyardError.
    """
    token = Token.of(context.folder.id)
    control = {"run": token.run, "pid": os.getpid(), "token": str(token)}
    context.writer.announce(**control)
    async with AsyncExitStack() as scope:
        sweep()
        site, is_in_job = context.site.site, bool(context.site.site.current_job())
        if not is_in_job:
            await scope.enter_async_context(server.accept_requests("127.0.0.1", **control))
        lock = MachineLock(context.observer, parallel=context.choices.parallel, run=token.run)
        await scope.enter_async_context(lock)
        site.note_roles({role: claim.hosts for role, claim in part.claims.items() if claim.shares is None})
        site.note_needs(list_needs(context.experiment))
        hosts = await scope.enter_async_context(site.lease(token, context.folder.minder_log, part.host_count))
        scope.push_async_callback(overhead.read_agents, hosts)
        _warn_of_risks(context, part)
        if context.experiment.services:
            await asyncio.gather(*map(_resolve_address, hosts))
        if is_in_job:
            await scope.enter_async_context(server.accept_requests(_own_address(hosts), **control))
        placement = Placement.of(part.claims, hosts)
        scratches = _make_scratches(context, placement, alone=len(hosts) == 1)
        scope.push_async_callback(scratches.close)
        await scratches.open()
        needs = list_tools(context.experiment, context.design.cells)
        recipes = list_recipes(context.experiment, part.design.cells)
        await bring_images(context, placement.hosts, recipes)
        if remains := list_remains(context.experiment, context.design.cells):
            await asyncio.to_thread(sweep_remains)
            scope.push_async_callback(remove_remains, placement.hosts, remains, str(token))
        await _bring_programs(placement.hosts, needs)
        collecting = Collecting(context.experiment, placement, context.folder)
        await collecting.check_tools()
        watch = TrialWatcher(placement.hosts, collecting, lock, context.warn)
        await _record_environment(context, placement, scratches, needs)
        deployment = _make_deployment(context, placement, scratches)
        if deployment:
            scope.push_async_callback(deployment.close)
        left = await site.fetch_seconds_left()
        limit = TimeLimit(context.choices.seconds if left is None else left)
        yield SessionResources(placement, scratches, watch, limit, lock, deployment)


async def _bring_programs(hosts: Sequence[Host], needs: Sequence[Tool]) -> None:
    """Those of ours that come with the package, to hosts that lack them. Raises SteelyardError."""
    if any(tool.bundled for tool in needs):
        from steelyard.controller.installation import bring_bundled

        await bring_bundled(hosts, needs)


def _warn_of_risks(context: RunContext, part: SessionPart) -> None:
    """What makes figures doubtful or harms something, as far as it is known before anything is measured."""
    site = context.site.site
    lacking = scratch_warnings(choose_scratch(context.choices.scratch), site)
    before = (*context.site.notes, *site.warnings(), *lacking)
    what = context.experiment, part.design.cells
    for text in (*before, *omissions(*what), *list_caveats(*what)):
        context.warn(text)


async def _resolve_address(host: Host) -> None:
    """Servers tell each other and their clients where they are, and some only know addresses in numbers."""
    from steelyard.services.kit.address import resolve_address

    with suppress(HostError):
        host.address = await resolve_address(host)


def _own_address(hosts: Sequence[Host]) -> str:
    """Where other machines reach this controller in its job."""
    return find_own_address(next((host.address for host in hosts if isinstance(host, LocalHost)), ""))


def _make_scratches(context: RunContext, placement: Placement, *, alone: bool) -> Scratches:
    chosen = choose_scratch(context.choices.scratch)
    near = PurePosixPath(chosen or context.store.scratch.absolute())

    def note(host: Host, path: PurePosixPath) -> None:
        facts = {} if host.shares_files and not host.scratch_base() else {"host": host.name}
        context.note("scratch", sync=True, path=str(path), mark=host.mark.digest, **facts)

    def make(host: Host) -> Scratch:
        base = near if chosen else host.scratch_base() or (near if host.shares_files else FAR_SCRATCH)
        return Scratch(host, base, context.folder.id, context.experiment, note, alone=alone)

    return Scratches(map(make, placement.hosts))


async def _record_environment(
    context: RunContext, placement: Placement, scratches: Scratches, needs: Sequence[Tool]
) -> None:
    facts = await gather_all(placement, needs, scratches, context.origin)
    context.writer.write_document(context.folder.environment, {"site": context.site.name, **facts})


def _make_deployment(context: RunContext, placement: Placement, scratches: Scratches) -> Deployment | None:
    if not context.experiment.services:
        return None
    from steelyard.controller.deployment.deployment import Deployment

    return Deployment(context, placement, scratches)
