"""What a file says is what its tree says again, aliases and nulls too."""

from __future__ import annotations

from steelyard.model.experiment import Experiment

FILE = {
    "experiment": "x",
    "roles": {"a": {"hosts": 1, "wrap": {"in": "podman", "image": "base", "nice": 3}}, "b": 1},
    "images": {"base": {"suite": "bookworm"}},
    "services": {
        "kv": {
            "use": "redis",
            "on": "a",
            "wrap": {"nice": None, "cores": 1},
            "recover": {"snapshot": "s", "from": "/snapshots"},
        }
    },
    "workload": {"use": "command", "run": ["true"], "wrap": {"in": "uml"}},
    "metrics": {"twice": "2 * wall"},
    "alert": {"when": "kv.down", "for": "3s", "notify": "x"},
}


def test_a_tree_can_be_read_again():
    experiment = Experiment.model_validate(FILE)
    again = Experiment.model_validate(experiment.to_tree())
    assert again == experiment
    assert again.to_tree() == experiment.to_tree()
    assert again.services["kv"].wrap == experiment.services["kv"].wrap


def test_a_role_gives_its_conditions_to_what_has_none_of_a_key():
    experiment = Experiment.model_validate(FILE)
    assert experiment.services["kv"].wrap.settings() == {"cores": 1, "in": "podman", "image": "base"}
    assert experiment.workload[0].wrap.settings() == {"in": "uml", "image": "base", "nice": 3}
