"""A command under the conditions of `wrap` on a host, and what its kernel then says of the process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from steelyard.errors import TrialFailure, UsageError
from steelyard.hosts.base import Host
from steelyard.hosts.capturing import RECORDER, WAYS, pass_through, preload_recorder
from steelyard.hosts.images.making import find_root
from steelyard.hosts.short_programs import list_absent
from steelyard.hosts.unused.accounts import gives_up_root
from steelyard.model.command import Command
from steelyard.model.environment import Inside, Surrounding
from steelyard.model.kernel_report import TOLD, KernelReport
from steelyard.model.keys.wrap import Conditions

_COMPLAIN = 'cd "$0" && "$@" 2>&1 || :'
_PATIENCE = 60.0  # seconds for a program that does nothing: the first one may unpack its image


async def wrap_command(
    host: Host,
    command: Command,
    asked: Conditions,
    scratch: PurePosixPath,
    *mounts: object,
    trace: PurePosixPath,
) -> Command:
    """The command as it is started there; its storage calls go to `trace`, in the scratch, if asked for.

    Raises TrialFailure when what it takes is not there.
    """
    way = asked.capture
    preloads = bool(way) and WAYS[way] is RECORDER
    if preloads:
        command = await preload_recorder(host, command, trace)
    seen = (scratch, *mounts, trace.parent if preloads else None)
    places = tuple(dict.fromkeys(str(path) for path in seen if path))
    wrapped = await _surround(host, command, asked, scratch, places) if asked.any else command
    return await pass_through(host, wrapped, way, trace, scratch) if way and not preloads else wrapped


async def _surround(
    host: Host, command: Command, asked: Conditions, scratch: PurePosixPath, places: tuple[str, ...]
) -> Command:
    """The command under all that is asked for but its recording."""
    for tool in asked.required_tools():
        if not await host.which(tool.name):
            raise TrialFailure(
                "tool-missing", f"wrap: {tool.name} is not installed on {host.name} (apt install {tool.apt})"
            )
    if asked.recipe:
        asked = replace(asked, image=str(await find_root(host, asked.recipe)))
    asked = await _settle(host, asked, scratch)
    if asked.environments and not host.shares_files:
        absent = await list_absent(host, places)
        places = tuple(path for path in places if path not in absent)
    if gives_up_root(command):
        asked = _keep_those_with_accounts(asked)
    environment = await _choose(host, asked, places) if asked.environments else None
    return asked.wrap_command(command, environment=environment, mounts=places, told=str(scratch / TOLD))


async def read_kernel(host: Host, scratch: PurePosixPath) -> KernelReport:
    """What a process that was started so said of itself before it became its program."""
    path = str(scratch / TOLD)
    return KernelReport.from_text((await host.read([path])).get(path, ""))


def _keep_those_with_accounts(asked: Conditions) -> Conditions:
    kept = tuple(one for one in asked.environments if one.has_accounts)
    if asked.environments and not kept:
        raise TrialFailure(
            "host-failed",
            f"wrap: in: {asked.inside} has one account, and this server gives up root: say `in: bubblewrap`,"
            " or run Steelyard as a user other than root",
        )
    return replace(asked, environments=kept)


async def _choose(host: Host, asked: Conditions, mounts: tuple[str, ...]) -> Surrounding:
    """What surrounds a process there: of several, the first in which a program runs that does nothing."""
    there = [one for one in asked.environments if await _has_tools(host, one)]
    if not there:
        needed = " or ".join(dict.fromkeys(tool.name for one in asked.environments for tool in one.needs))
        what = f"image {asked.image}" if asked.image else f"in: {asked.inside}"
        raise TrialFailure("tool-missing", f"wrap: {what} needs {needed}, which {host.name} does not have")
    if len(asked.environments) == 1:
        return there[0]  # whatever is wrong with it, it says itself
    for one in there:
        if await runs_nothing(host, one, Inside(asked.image, mounts)):
            return one
    tried = ", ".join(one.name for one in there)
    message = f"wrap: no container runs {asked.image or 'a program'} on {host.name}; tried: {tried}"
    raise TrialFailure("tool-missing", f"{message}; name one, as `in: {there[0].name}`, to see why it fails")


async def runs_nothing(host: Host, environment: Surrounding, inside: Inside) -> bool:
    """Whether `true` runs inside."""
    command = environment.enter(Command(("true",)), inside)
    return await host.capture(command.argv, seconds=_PATIENCE) is not None


async def _has_tools(host: Host, environment: Surrounding) -> bool:
    return all([await host.which(tool.name) for tool in environment.needs])


async def _settle(host: Host, asked: Conditions, scratch: PurePosixPath) -> Conditions:
    """The conditions as this host can hold them. Raises TrialFailure, before a trial begins, if it cannot."""
    if asked.cores:
        status = await host.read(["/proc/self/status"])
        allowed = KernelReport.from_text("".join(status.values())).cpus or ()
        try:
            asked = asked.choose_cpus(allowed)
        except UsageError as error:
            raise TrialFailure("host-failed", f"wrap: {error.message} on {host.name}") from error
    if (
        asked.image
        and asked.image.startswith("/")
        and await host.capture(("test", "-e", asked.image)) is None
    ):
        raise TrialFailure("tool-missing", f"wrap: image {asked.image} is not on {host.name}")
    if asked.limits.any and not any(one.limits_itself for one in asked.environments):
        trial = asked.limits.enter(Command(("true",)), "")
        words = ("sh", "-c", _COMPLAIN, str(scratch), *trial.argv)
        if complaint := (await host.capture(words) or "").strip():
            raise TrialFailure("host-failed", f"wrap: {complaint} ({host.name})")
    return asked
