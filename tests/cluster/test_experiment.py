"""How many nodes of what: the arithmetic of a cluster, and the experiment that comes of it."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cluster.experiment import (
    Application,
    Cluster,
    Sizes,
    build_attach_tree,
    escape_template,
    resolve_sizes,
    split_words,
)
from steelyard.errors import UsageError
from steelyard.model.expression import substitute
from steelyard.spec.change import load_tree

some = st.none() | st.integers(1, 12)


@pytest.mark.parametrize(
    ("given_numbers", "disjoint", "found"),
    [
        ((None, None, None), False, (4, 4, 4)),
        ((None, None, None), True, (4, 2, 2)),
        ((None, 3, None), False, (3, 3, 3)),
        ((None, 2, 3), False, (3, 2, 3)),
        ((None, 2, 3), True, (5, 2, 3)),
        ((5, 2, 2), True, (5, 2, 2)),
        ((5, None, 2), True, (5, 3, 2)),
        ((5, 3, None), True, (5, 3, 2)),
        ((None, 3, None), True, (4, 3, 1)),
        ((6, None, None), False, (6, 6, 6)),
    ],
)
def test_what_is_left_out_fits_itself(given_numbers: Any, disjoint: bool, found: Any) -> None:
    made = resolve_sizes(*given_numbers, disjoint=disjoint)
    assert (made.total, made.database, made.application) == found


def test_without_an_application_its_numbers_mean_nothing() -> None:
    assert resolve_sizes(3, None, 7, disjoint=True, runs_application=False) == Sizes(3, 3)
    assert resolve_sizes(5, 3, None, runs_application=False).idle_nodes == 2


@pytest.mark.parametrize(
    ("numbers", "disjoint"),
    [((3, 2, 2), True), ((2, 3, 1), False), ((1, None, None), True), ((None, 6, None), True)],
)
def test_too_few_nodes_name_all_numbers(numbers: Any, disjoint: bool) -> None:
    with pytest.raises(UsageError) as error:
        resolve_sizes(*numbers, disjoint=disjoint)
    assert all(str(number) in error.value.message for number in numbers if number)
    assert "at least" in error.value.message


@given(some, some, some, st.booleans(), st.booleans())
def test_every_node_is_accounted_for(
    total: int | None, database: int | None, application: int | None, disjoint: bool, runs: bool
) -> None:
    try:
        made = resolve_sizes(total, database, application, disjoint=disjoint, runs_application=runs)
    except UsageError:
        return
    assert made.total == (total or made.total)
    assert made.database == (database or made.database) >= 1
    assert not runs or made.application == (application or made.application) >= 1
    own = [role if isinstance(role, int) else 0 for role in made.roles.values()]
    assert sum(own) == made.total, "hosts of their own are all there are"
    assert all(hosts >= 1 for hosts in (made.used_nodes, made.total))
    assert made.idle_nodes == made.roles.get("idle", 0)


@given(st.text(alphabet="ab ${}'\"\\$", max_size=30))
def test_no_word_of_the_application_is_taken_for_an_expression(line: str) -> None:
    try:
        parts = split_words(line, "--appl")
    except UsageError:
        return
    assert substitute({"run": parts}, {})["run"] == shlex.split(line)


@pytest.mark.parametrize("disjoint", [True, False])
@pytest.mark.parametrize(("database", "application"), [(2, 1), (1, 3), (2, 2)])
def test_the_experiment_is_sound(database: int, application: int, disjoint: bool) -> None:
    made = resolve_sizes(7, database, application, disjoint=disjoint)
    appl = Application("python 'my cells.py' load ${HOME}", "/home/me")
    save = {"into": "/snapshots", "when": "success"}
    cluster = Cluster("brain", made, appl, "redis", {}, save=save)
    experiment, text = load_tree(cluster.tree())
    assert experiment.hold
    assert experiment.tags == {"cluster": "brain"}
    assert experiment.services["ring"].save is not None
    assert experiment.workload[0].options["run"][-1] == escape_template("${HOME}")
    assert "idle" in text


def test_a_recovered_one_says_from_what() -> None:
    recover = {"snapshot": "20261120-184512-17", "from": "/snapshots"}
    tree = Cluster("again", Sizes(2, 2), recover=recover, hold=False).tree()
    experiment, _ = load_tree(tree)
    assert experiment.services["ring"].recover is not None
    assert "20261120-184512-17" in experiment.about
    assert not experiment.hold
    assert experiment.workload[0].options["run"] == ("true",) or experiment.workload[0].options["run"] == [
        "true"
    ]


def test_ranks_and_pycompss() -> None:
    mpi = Application("./solver", "/w", ranks=3).workload()
    assert (mpi["use"], mpi["on"], mpi["ranks"]) == ("command", "app", 3)
    compss = Application("app.py 3", "/w", pycompss="--lang=python -d").workload()
    assert (compss["use"], compss["flags"]) == ("pycompss", ["--lang=python", "-d"])
    assert "cwd" not in Application("x", None).workload(), "its nodes do not have our directory"
    with pytest.raises(UsageError, match="only one"):
        Application("x", "/w", ranks=3, pycompss="").workload()
    with pytest.raises(UsageError, match="cannot be split"):
        Application("it's", "/w").workload()
    experiment, _ = load_tree(build_attach_tree("brain", "/runs/x/control.json", 2, Application("./a", "/w")))
    assert experiment.services["ring"].use == "attached"
