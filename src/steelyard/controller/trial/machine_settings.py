"""The settings of machines that a cell asks for, during a trial."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from steelyard.controller.placement import Placement
from steelyard.controller.scratch import Scratches
from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host
from steelyard.hosts.kernel_settings import change_setting
from steelyard.model.experiment import Experiment
from steelyard.model.keys.machine import MachineSetting, read_settings
from steelyard.model.trial import Scalar


@asynccontextmanager
async def set_machines(
    experiment: Experiment, placement: Placement, scratches: Scratches, levels: Mapping[str, Scalar]
) -> AsyncIterator[dict[str, Any]]:
    """Machines as the roles of a cell ask, for as long as the block lasts; for the record, what was changed.

    Raises HostError with what a kernel refuses, TrialFailure where two roles want different things of one.
    """
    async with AsyncExitStack() as scope:
        record: dict[str, Any] = {}
        for host, setting in _list_settings(experiment, placement, levels):
            scratch = scratches.get_scratch(host).base
            before = await scope.enter_async_context(change_setting(host, setting, scratch))
            record.setdefault(host.name, {})[setting.key] = {"set": setting.value, "before": before}
        yield record


def _list_settings(
    experiment: Experiment, placement: Placement, levels: Mapping[str, Scalar]
) -> list[tuple[Host, MachineSetting]]:
    """Each setting of each machine once."""
    settings: dict[tuple[str, str], tuple[Host, MachineSetting]] = {}
    for name, role in experiment.roles.items():
        for setting in read_settings(role.machine, levels) if role.machine else ():
            for slot in placement.groups.get(name, ()):
                known = settings.setdefault((slot.host.machine, setting.key), (slot.host, setting))
                if known[1].value != setting.value:
                    message = (
                        f"machine: {setting.key} is to be {known[1].value} and {setting.value} on one machine"
                    )
                    raise TrialFailure(
                        "host-failed", f"{message}, which {known[0].name} and {slot.host.name} are"
                    )
    return list(settings.values())
