"""Gather what is known of a host, and what to think of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.controller.machine.advice import assess_environment
from steelyard.controller.placement import Placement, group_by_machine
from steelyard.controller.scratch import Scratches
from steelyard.evidence.environment import EnvironmentEvidence, commands, find_file_system, variables
from steelyard.hosts.base import Host
from steelyard.model.tool import Tool


async def gather_all(
    placement: Placement, needs: Iterable[Tool], scratches: Scratches, origin: Path | None
) -> dict[str, Any]:
    """The environment of the first host, and under `hosts` what is known of each.

    Hosts on one machine share its environment, which is gathered once.
    """
    tools, environments = tuple(needs), dict[str, dict[str, Any]]()
    for machine, (host, *_) in group_by_machine(placement.hosts).items():
        environments[machine] = await gather(
            host, tools, scratches.get_scratch(host).base, origin if not environments else None
        )
    first = environments[placement.hosts[0].machine]
    return {
        **first,
        "hosts": [await _describe_host(host, placement, environments, first) for host in placement.hosts],
    }


async def _describe_host(
    host: Host, placement: Placement, found: Mapping[str, Any], first: Mapping[str, Any]
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": host.name,
        "roles": placement.slot_names(host),
        "address": host.address,
        "cores": host.cores,
        "memory": host.memory,
        "machine": host.machine,
        **await host.gather_facts(),
    }
    environment = found[host.machine]
    return facts if environment is first else {**facts, "environment": environment}


async def gather(
    host: Host, needs: Iterable[Tool], scratch: PurePosixPath, origin: Path | None
) -> dict[str, Any]:
    """The environment of a host as one document.

    `scratch` is where test data go, `origin` the experiment's folder, whose git commit is noted. Values of
    environment variables are never read, only whether some that change results are set.
    """
    raw = await host.read(EnvironmentEvidence.files)
    for name, argv in commands(needs, str(origin) if origin else None).items():
        said = await host.capture(argv)
        if said is not None:
            raw[name] = said
    environment = dict(EnvironmentEvidence().parse(raw))
    real = PurePosixPath(os.path.realpath(scratch)) if host.shares_files else scratch
    system = find_file_system(real, raw.get("/proc/self/mountinfo", ""))
    free = await host.read_free_space(scratch)
    notes = assess_environment(environment, system, free=free)
    return {
        **environment,
        "host": host.name,
        "variables_set": variables(os.environ) if host.shares_files else [],
        "scratch": {"free": free, **(dataclasses.asdict(system) if system else {})},
        "advice": [dataclasses.asdict(note) for note in notes],
    }
