"""What a run would do, without doing any of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from steelyard.controller.pace import TrialPace
from steelyard.design import Design, Results
from steelyard.errors import SpecError
from steelyard.model.command import Command, Endpoint, Place
from steelyard.model.experiment import Experiment
from steelyard.model.expression import ExpressionError
from steelyard.model.keys.find import Search
from steelyard.model.keys.plugin_use import short_name
from steelyard.model.keys.reference import FOLDER
from steelyard.model.keys.roles import count_needed_hosts
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.lifetimes import describe_restriction
from steelyard.model.paths import is_service
from steelyard.model.tool import Tool
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_all, list_caveats, list_tools, service_class
from steelyard.spec.checks.omission import omissions
from steelyard.spec.checks.references import References
from steelyard.spec.conditions import read_conditions
from steelyard.spec.placement import WorkloadPlacement, count_used_hosts, resolve_placement
from steelyard.spec.service_kinds import resolve_service
from steelyard.stats.condition import AGAIN
from steelyard.tools.find import find_missing
from steelyard.workloads.base import Workload

TRIED = 200


class PlannedCommand(NamedTuple):
    """A command of a trial: for `phase`, as it would be started, and as one reads it."""

    phase: str
    command: Command
    shown: Command


@dataclass(frozen=True, slots=True)
class Preview:
    """Numbers of cells and trials (at least, at most, with all that may be made again); seconds (at least, at
    most; None when the options do not tell); bytes in the scratch directories of a host at the worst; the
    commands of one trial; what is missing.

    `hosts`: how many the roles take, None for all that the site has. `idle`: node-hours (at least, at most)
    in which hosts of the largest cell wait while a smaller cell is measured; None when that cannot be told.
    `restriction` says how services restrict the order; empty where they do not. With `find`, `cells` are
    those at the bounds of the `searches`. `warnings` say what the figures will not tell. `pace` is what
    `seconds` rest on where the options do not tell. `missing_programs` are programs that this machine was
    looked through for.
    """

    cells: tuple[Cell, ...]
    trials: tuple[int, int]
    order: str
    seed: int
    seconds: tuple[float, float] | None
    disk: int
    commands: tuple[PlannedCommand, ...]
    hosts: int | None
    idle: tuple[float, float] | None
    missing_tools: tuple[Tool, ...]
    restriction: str = ""
    searches: tuple[Search, ...] = ()
    is_replacing: bool = False
    warnings: tuple[str, ...] = ()
    pace: TrialPace | None = None
    missing_programs: tuple[str, ...] = ()

    @property
    def planned_trials(self) -> tuple[int, int]:
        """Numbers of trials, at least and at most, if nothing is disturbed."""
        least, most = self.trials
        return least, most // AGAIN if self.is_replacing and not self.searches else most


def preview(
    experiment: Experiment,
    seed: int,
    scratch: Path,
    cores: int,
    memory: int,
    *,
    here: bool = False,
    earlier: Callable[[], TrialPace | None] | None = None,
) -> Preview:
    """Look ahead. `scratch` is where test data would go; `cores` and `memory` (bytes) are the host's.

    `here`: the hosts are this machine. `earlier` looks for the pace of an earlier run, which is only done
    where the options do not tell how long a trial takes.
    """
    design = Design(experiment, seed)
    least, most = design.count_trials(Results())
    needs = list_tools(experiment, design.cells)
    place = Place(PurePosixPath(scratch) / "t1", PurePosixPath("RAW"), cores, memory, seed)
    sample = design.cells[:: max(1, len(design.cells) // TRIED)]
    each = _seconds(experiment, sample)
    pace = earlier() if earlier and each is None else None
    each = pace.seconds if pace else each
    seconds = None if each is None else (each * least, each * most)
    return Preview(
        design.cells,
        (least, most),
        experiment.order,
        seed,
        seconds,
        max((_disk(experiment, cell, cores) for cell in sample), default=0),
        tuple(_commands(experiment, design.cells[0], place)),
        count_needed_hosts(experiment.claims),
        _idle_hours(experiment, sample, seconds),
        tuple(find_missing(needs)),
        describe_restriction(experiment, len(design.groups)),
        design.searches,
        design.replaces,
        (*omissions(experiment, sample), *list_caveats(experiment, sample)),
        pace,
        tuple(_find_absent(experiment, sample, place)) if here else (),
    )


def _seconds(experiment: Experiment, sample: tuple[Cell, ...]) -> float | None:
    """How long a trial takes, as the options tell."""
    times = [workload.seconds() for cell in sample for _, workload in bind_all(experiment, cell)]
    if None in times or not sample:
        return None
    before = sum(float(step.value) for step in experiment.before_each if step.name == "settle")
    return sum(seconds or 0.0 for seconds in times) / len(sample) + before


def _idle_hours(
    experiment: Experiment, sample: tuple[Cell, ...], seconds: tuple[float, float] | None
) -> tuple[float, float] | None:
    """All hosts of the largest cell are held for the whole run."""
    used = [count_used_hosts(experiment, cell) for cell in sample]
    if seconds is None or None in used or not used:
        return None
    busy = [count or 0 for count in used]
    mean = max(busy) - sum(busy) / len(busy)
    return seconds[0] * mean / 3600, seconds[1] * mean / 3600


def _disk(experiment: Experiment, cell: Cell, cores: int) -> int:
    filled = (int(step.value) for step in experiment.before_each if step.name == "precondition")
    used = 0
    for use, workload in bind_all(experiment, cell):
        copies = resolve_placement(use, cell.parameters, experiment).copies
        if is_service(workload.directory()):
            continue
        used += workload.disk() * (cores if copies == "cores" else copies)
    return max(used, max(filled, default=0))


def _commands(experiment: Experiment, cell: Cell, place: Place) -> list[PlannedCommand]:
    planned = []
    for use, workload in _bind_placeholders(experiment, cell):
        asked = read_conditions(use, cell.parameters)
        placement = resolve_placement(use, cell.parameters, experiment)
        here = replace(place, to=_placeholder_endpoint(experiment, use, cell))
        planned += [
            PlannedCommand(
                _label(use, phase.name, placement),
                phase.complete(asked.wrap_command(phase.wrapped, mounts=("SCRATCH", "RAW"))),
                phase.complete(asked.describe_command(phase.wrapped)),
            )
            for phase in workload.phases(here)
        ]
    return planned


def _find_absent(experiment: Experiment, sample: Sequence[Cell], place: Place) -> dict[str, None]:
    """Programs that trials would not find; those of workloads with tools of their own are among the tools."""
    commands = (
        phase.command
        for cell in sample
        for use, workload in _bind_placeholders(experiment, cell)
        if not workload.needs
        for phase in workload.phases(replace(place, to=_placeholder_endpoint(experiment, use, cell)))
    )
    return {command.argv[0]: None for command in commands if not _is_here(command)}


def _is_here(command: Command) -> bool:
    """Whether its program is there; what is to be in a scratch directory may come to be there."""
    name = command.argv[0]
    if "/" in name and not name.startswith("/"):
        if command.cwd is None:
            return True
        name = f"{command.cwd}/{name}"
    return shutil.which(name, path=command.variables.get("PATH")) is not None


def _bind_placeholders(experiment: Experiment, cell: Cell) -> list[tuple[WorkloadUse, Workload[Any]]]:
    """The workloads, with `<kv.port>` for what is known later; 0 where a port is reckoned with."""
    shown: dict[str, Any] = {name: f"<{name}>" for name in References(experiment).names()}
    shown |= {FOLDER: str(experiment.folder)} if experiment.folder else {}
    try:
        return bind_all(experiment, cell, shown)
    except (SpecError, ExpressionError):
        return bind_all(experiment, cell, {k: 0 if k.endswith("port") else v for k, v in shown.items()})


def _placeholder_endpoint(experiment: Experiment, use: WorkloadUse, cell: Cell) -> Endpoint | None:
    """For a service that does not run yet: its name for its address, and no port."""
    if use.to is None:
        return None
    kind = resolve_service(experiment.services[use.to], cell.parameters)
    spoken = service_class(kind.plugin).speaks
    protocol = spoken.name if spoken else short_name(kind.use)
    return Endpoint(use.to.upper(), 0, {"protocol": protocol, "path": "/"})


def _label(use: WorkloadUse, phase: str, where: WorkloadPlacement) -> str:
    """Which phase, and where and how often it is not just once on the only host."""
    name = f"{use.phase}-{phase}" if use.phase else phase
    copies = f" x {where.copies}" if where.copies != 1 else ""
    return f"{name} on {where.on}{copies}" if use.on or copies else name
