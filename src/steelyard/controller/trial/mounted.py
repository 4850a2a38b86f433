"""Directories of copies in the file systems that services bring."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.placement import Workdir
from steelyard.controller.trial.step import PipelineStep
from steelyard.errors import HostError, HostLost, TrialFailure
from steelyard.hosts.short_programs import run_short_program
from steelyard.model.command import Command
from steelyard.model.paths import is_service

if TYPE_CHECKING:  # what only runs with services use
    from steelyard.services.kit.mounting import MountedService

_REMOVAL_SECONDS = 600.0  # of a directory; a benchmark of metadata leaves many files


@asynccontextmanager
async def enter_mounts(
    step: PipelineStep, deployed: ReadyServices, *, keep: bool
) -> AsyncIterator[PipelineStep]:
    """The step, its copies in the file system that its directory names, where it names one.

    Their directories there are removed afterwards, unless they are to be kept, or go with their service.
    Raises TrialFailure when the file system refuses.
    """
    name = step.workload.directory()
    if not is_service(name):
        yield step
        return
    service: MountedService[Any] = deployed.services_by_name[name]  # type: ignore[assignment] # the file was checked
    workdirs = [_locate(workdir, service) for workdir in step.workdirs]
    try:
        await asyncio.gather(*(_run(service, workdir, "mkdir", "-p", "-m", "0700") for workdir in workdirs))
        yield replace(step, workdirs=workdirs)
    except HostLost:
        raise
    except HostError as error:
        raise TrialFailure("service-failed", error.message) from error
    finally:
        if not keep and name not in deployed.fresh:
            await asyncio.gather(*(_remove(service, workdir) for workdir in workdirs))


def _locate(workdir: Workdir, service: MountedService[Any]) -> Workdir:
    """Where a copy works there: hosts may see the same files, so the name says whose directory it is."""
    ranks = workdir.copy.ranks
    if ranks and len({host.name for host in ranks.hosts}) > 1:
        text = f"{service.context.name} is mounted by each host alone: ranks of several hosts cannot use it"
        raise TrialFailure("service-failed", f"{text}; use copies, or mount it yourself and name its path")
    point = service.mount_point(workdir.host.name)
    inside = point.path / f"{workdir.copy.slot.name}-{workdir.home.name}"
    return replace(workdir, mount=point, inside=inside)


async def _run(service: MountedService[Any], workdir: Workdir, *words: str) -> None:
    point = service.mount_point(workdir.host.name)
    command = point.enter(Command((*words, str(workdir.inside))), PurePosixPath("/"))
    try:
        await run_short_program(
            workdir.host,
            command,
            cwd=workdir.home,
            logs=service.context.logs,
            label=f"{words[0]}-{workdir.copy.name}",
            seconds=_REMOVAL_SECONDS,
        )
    except HostLost:
        raise
    except HostError as error:
        raise HostError(f"service {service.context.name}: {error.message}") from error


async def _remove(service: MountedService[Any], workdir: Workdir) -> None:
    try:
        await _run(service, workdir, "rm", "-rf")
    except HostError as error:
        service.complaints.append(error.message)
