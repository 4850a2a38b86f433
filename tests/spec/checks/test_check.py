"""What a sound file means, and that one mistake in it gives one message."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import SpecError
from steelyard.model.experiment import Experiment
from steelyard.spec.change import apply_changes, dump, extend_experiment, load_tree
from steelyard.spec.checks.timeline import find_phase
from steelyard.spec.load import check, check_tree, load_source
from steelyard.spec.yaml.source import read

SOUND = {
    "experiment": "sound",
    "about": "All keys there are",
    "parameters": {
        "n": [1, 2],
        "m": {"range": [1, 5], "step": 2},
        "x": {"between": [1, 100], "scale": "log"},
    },
    "sample": {"size": 4, "method": "sobol"},
    "where": "n < 3 and m >= 1",
    "workload": {"use": "command", "run": ["sleep", "${n * 0.001}"], "metrics": {"rate": {"regex": "(.)"}}},
    "before_each": ["sync", {"settle": "1ms"}, {"warm_up": 1}, {"precondition": "1MiB"}],
    "repeat": {
        "at_least": 6,
        "at_most": 9,
        "until": {"metric": "wall.median", "within": "5%"},
        "budget": "1h",
    },
    "order": "random",
    "seed": 7,
    "reset": "keep",
    "timeout": "5s",
    "retry": {"times": 2, "on": ["crashed"]},
    "require": [
        "wall.median <= 3 s",
        {"that": "rate.max >= 1", "where": "n == 1"},
        {"that": "wall.median <= 105%", "where": "n == 2", "against": "n == 1"},
    ],
    "compare": {"parameter": "n", "baseline": 2, "metrics": ["rate"], "fail_on": "worse", "margin": "5%"},
    "telemetry": {"every": "2s"},
    "outliers": "tukey",
    "tags": {"team": "storage", "rack": 4},
    "covers": ["SKA1"],
}


def test_a_file_with_every_key_is_sound():
    experiment, faults = check_tree(SOUND)
    assert faults == []
    assert experiment is not None


def test_python_says_what_a_file_says():
    from_file, _ = load_tree(SOUND)
    check(Experiment(**SOUND))
    assert Experiment(**SOUND) == from_file


@pytest.mark.parametrize("key", [key for key in SOUND if key not in ("experiment", "about")])
@pytest.mark.parametrize("wrong", [["?"], {"?": 1}, 3.5])
def test_one_wrong_key_gives_one_message(key, wrong):
    if key == "tags" and wrong == {"?": 1}:
        return  # a tag may be called so
    tree = copy.deepcopy(SOUND)
    tree[key] = wrong
    _, faults = check_tree(tree)
    about = [fault for fault in faults if fault.path[:1] == (key,)]
    assert about, f"{key}: {wrong} went unnoticed"
    assert {fault.path[:1] for fault in faults} <= {(key,), *DEPENDENT.get(key, ())}, faults


# What must also be said, because it is wrong without that key too.
DEPENDENT = {"parameters": {("sample",), ("where",), ("workload",), ("require",), ("compare",)}}


def test_a_key_is_never_ignored():
    for name in ("roles", "services", "timeline", "start", "find", "limits", "prices", "nonsense"):
        _, faults = check_tree({**SOUND, name: 1})
        assert [fault.path for fault in faults] == [(name,)]


scalars = st.none() | st.booleans() | st.integers(-10, 10) | st.floats(allow_nan=False) | st.text(max_size=8)
trees = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(SOUND)), trees, min_size=1))
def test_any_tree_gives_an_experiment_or_faults_with_sentences(changes):
    experiment, faults = check_tree({**SOUND, **changes})
    assert experiment is not None or faults
    for fault in faults:
        assert fault.message
        assert "Input should" not in fault.message
        assert "pydantic" not in fault.message


def test_a_file_can_be_changed_and_keeps_its_comments():
    text = "experiment: a  # why\nworkload: {use: command, run: ['true']}\n"
    experiment, after = apply_changes(text, "a.yaml", {"repeat": 3})
    assert experiment.repeat.at_least == 3
    assert "# why" in after


def test_extending_adds_levels_after_the_old_ones():
    text = dump(
        {
            "experiment": "a",
            "parameters": {"n": {"range": [1, 2]}},
            "workload": {"use": "command", "run": ["true"]},
        }
    )
    experiment, _ = extend_experiment(text, "a.yaml", {"n": [2, 9]}, repeat=8)
    assert experiment.parameters["n"].values() == (1, 2, 9)
    assert experiment.repeat.at_least == 8


@pytest.mark.parametrize(
    ("levels", "repeat", "says"),
    [({"k": [1]}, None, "unknown parameter 'k'"), ({}, 6, "6 repetitions already")],
)
def test_extending_by_nothing_that_fits_is_refused(levels, repeat, says):
    text = dump(
        {"experiment": "a", "parameters": {"n": [1]}, "workload": {"use": "command", "run": ["true"]}}
    )
    with pytest.raises(Exception, match=says):
        extend_experiment(text, "a.yaml", levels, repeat)


def test_options_are_tried_with_every_level():
    tree = {
        "experiment": "a",
        "parameters": {"unit": ["s", "KB", "ms"]},
        "workload": {
            "use": "command",
            "run": ["true"],
            "metrics": {"r": {"regex": "(1)", "unit": "${unit}"}},
        },
    }
    _, faults = check_tree(tree)
    assert len(faults) == 1
    assert faults[0].message.endswith("with unit=KB")


def test_yaml_in_the_docs_parses():
    with pytest.raises(SpecError, match="1 problem"):
        load_source(read("- a list", "x.yaml"))


PAUSED = {
    "experiment": "paused",
    "roles": {"db": 1, "load": 1},
    "services": {"net": {"use": "iperf3", "on": "db"}},
    "workload": {"use": "iperf3", "on": "load", "to": "net"},
    "timeline": {"during": "run", "at": "1s", "do": "pause", "service": "net", "node": 0},
}


def test_the_phase_of_an_only_workload_is_run():
    experiment, faults = check_tree(PAUSED)
    assert faults == []
    assert find_phase(experiment.timeline[0], experiment) is experiment.workload[0]
    named = {**PAUSED, "workload": {**PAUSED["workload"], "phase": "load"}}
    (fault,) = check_tree(named)[1]
    assert fault.message == "during: there is no phase 'run'; phases are load"
