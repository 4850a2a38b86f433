"""What an experiment does that needs root, by its file alone."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.model.experiment import Experiment

BY_CONTROL_GROUP = frozenset({"cpu_quota", "memory", "io_read", "io_write"})


def list_privileged(experiment: Experiment) -> Iterator[str]:
    """What hosts without root do not permit, in the words of the file."""
    if any(step.name == "drop_caches" for step in experiment.before_each):
        yield "`drop_caches` in before_each"
    yield from (f"`machine` of role {name}" for name, role in experiment.roles.items() if role.machine)
    directories = [use.options.get("directory") for use in experiment.workload]
    yield from (f"mounting service {name}" for name in experiment.services if name in directories)
    for use in (*experiment.workload, *experiment.services.values()):
        if use.wrap:
            yield from (f"`{key}` in wrap" for key in use.wrap.settings() if key in BY_CONTROL_GROUP)
