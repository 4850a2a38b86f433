"""Coordinated omission: closed loops during events that stop a service, of which their latency tells little.

Source: Gil Tene, "How NOT to Measure Latency"; Schroeder, Wierman, Harchol-Balter, "Open Versus Closed: A
Cautionary Tale", NSDI 2006. Clients that wait with a server that stands still send nothing meanwhile, so that
an outage of seconds shows in a handful of requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.model.experiment import Experiment
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_workload, event_class
from steelyard.spec.checks.timeline import find_phase

MOST_TRIED = 200


def omissions(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """A sentence for each measured workload that is a closed loop in some cell while an event stops it.

    What a function of the user's will yield is not known.
    """
    tried = cells[:: max(1, len(cells) // MOST_TRIED)]
    sentences = (
        f"{use.use} waits for each answer before its next request, so few requests see the outage of "
        f"`{'` and `'.join(events)}` (coordinated omission); {remedy}"
        for use, events in _find_stopped(experiment)
        for remedy in dict.fromkeys(bind_workload(use, cell).closed_loop_advice() for cell in tried)
        if remedy
    )
    return list(dict.fromkeys(sentences))


def _find_stopped(experiment: Experiment) -> Iterator[tuple[WorkloadUse, list[str]]]:
    """The measured workloads, each with the events that stop something during its phase."""
    stopping = [entry for entry in experiment.timeline if event_class(entry.plugin).is_disruptive]
    for use in experiment.workload:
        during = [entry.do for entry in stopping if find_phase(entry, experiment) is use]
        if use.measured and during:
            yield use, list(dict.fromkeys(during))
