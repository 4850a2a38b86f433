"""The part of a run that one session measures: with `split` there is a job for each number of hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from steelyard.controller.choices import is_split
from steelyard.controller.context import RunContext
from steelyard.design import Design
from steelyard.model.keys.roles import RoleClaim, count_needed_hosts
from steelyard.spec.placement import count_used_hosts, host_counts, trim_claims


class SessionPart(NamedTuple):
    """The cells of a session, and what its roles take."""

    design: Design
    claims: Mapping[str, RoleClaim]

    @property
    def host_count(self) -> int | None:
        """How many hosts it needs; None for as many as the site has."""
        return count_needed_hosts(self.claims)


def select_part(context: RunContext) -> SessionPart:
    """All cells; with `split` those with the fewest hosts that are not done, and the hosts they use."""
    experiment, design = context.experiment, context.design
    if not is_split(context.choices, context.site):
        return SessionPart(design, experiment.claims)
    left = [cell for cell in design.cells if design.restrict([cell]).next(context.results)]
    counts = host_counts(experiment, left)
    of_size = [cell for cell in left if count_used_hosts(experiment, cell) in counts[:1]]
    part = design.restrict(of_size) if of_size else design
    return SessionPart(part, trim_claims(experiment, part.cells))
