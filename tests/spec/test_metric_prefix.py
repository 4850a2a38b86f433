"""With several measured phases a metric is declared by the name under which a trial records it."""

from __future__ import annotations

from steelyard.model.experiment import Experiment
from steelyard.model.space import cells
from steelyard.spec.metrics import declared_metrics


def declared(*phases):
    work = [{"phase": name, "use": "command", "run": ["true"]} for name in phases]
    experiment = Experiment(experiment="two", workload=work)
    return declared_metrics(experiment, tuple(cells(experiment, seed=1)))


def test_one_phase_keeps_the_plain_names():
    assert {"wall", "user"} <= set(declared("only"))


def test_several_phases_stand_before_the_names():
    found = declared("first", "second")
    assert {"first_wall", "second_wall"} <= set(found)
    assert "wall" not in found
    assert all(metric.name == name for name, metric in found.items())
