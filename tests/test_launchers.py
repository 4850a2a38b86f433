from __future__ import annotations

import pytest

from steelyard.errors import UnknownName, UsageError
from steelyard.launchers import find_launcher, launch_alone, list_launchers, spread_ranks
from steelyard.model.command import Command

COMMAND = Command(("./prog", "a b"), env={"SECRET": "s3cret", "A": "1"}, stdin="input")
EXPECTED = {
    "mpirun": "mpirun --oversubscribe --host n1:2,n2:1 -n 3 -x A -x SECRET",
    "srun": "srun --overlap --oversubscribe --kill-on-bad-exit=1 --nodes=2 --nodelist=n1,n2 --ntasks=3",
    "pbsdsh": "pbsdsh -c 3 -- env A=1 SECRET=s3cret",
}


@pytest.mark.parametrize(("name", "line"), EXPECTED.items())
def test_line(name: str, line: str) -> None:
    assert find_launcher(name)(COMMAND, ("n1", "n2"), 3).argv == (*line.split(), "./prog", "a b")


def test_blaunch_names_a_host_once_for_each_rank() -> None:
    assert find_launcher("blaunch")(COMMAND, ("n1", "n2"), 3).argv == (
        "blaunch",
        "-z",
        "n1 n1 n2",
        "./prog",
        "a b",
    )


def test_jsrun_spreads_evenly_or_not_at_all() -> None:
    argv = find_launcher("jsrun")(COMMAND, ("n1", "n2"), 4).argv
    assert argv[1:9] == (
        "--nrs",
        "2",
        "--rs_per_host",
        "1",
        "--cpu_per_rs",
        "ALL_CPUS",
        "--tasks_per_rs",
        "2",
    )
    with pytest.raises(UsageError, match="3 ranks over 2 hosts"):
        find_launcher("jsrun")(COMMAND, ("n1", "n2"), 3)


@pytest.mark.parametrize("name", sorted(list_launchers()))
def test_keeps_what_the_command_says(name: str) -> None:
    wrapped = find_launcher(name)(COMMAND, ("n1", "n2"), 4)
    assert wrapped.stdin == "input"
    assert {**wrapped.env, **COMMAND.env} == wrapped.env


@pytest.mark.parametrize("name", ["mpirun", "srun"])
def test_values_of_variables_are_not_in_the_words(name: str) -> None:
    assert "s3cret" not in " ".join(find_launcher(name)(COMMAND, ("n1",), 1).argv)


def test_more_hosts_than_ranks() -> None:
    assert spread_ranks(("n1", "n2", "n3"), 2) == [("n1", 1), ("n2", 1)]
    assert "--nodes=2" in find_launcher("srun")(COMMAND, ("n1", "n2", "n3"), 2).argv


def test_unknown() -> None:
    with pytest.raises(UnknownName, match="did you mean 'mpirun'"):
        find_launcher("mpirum")


def test_a_secret_goes_by_its_name_or_not_at_all():
    command = Command(("./solve",), secrets={"PASSWORD": "s3cret"})
    for name in ("mpirun", "srun", "jsrun", "blaunch"):
        started = find_launcher(name)(command, ["n1", "n2"], 2)
        assert "s3cret" not in " ".join(started.argv)
        assert started.variables["PASSWORD"] == "s3cret"
    assert "-x PASSWORD" in " ".join(find_launcher("mpirun")(command, ["n1"], 1).argv)
    with pytest.raises(UsageError, match="pbsdsh cannot pass a password to ranks"):
        find_launcher("pbsdsh")(command, ["n1"], 1)


def test_a_program_alone_is_as_it_was_and_the_user_has_the_last_word() -> None:
    alone = launch_alone(COMMAND)
    assert (alone.argv, alone.env["OMPI_MCA_ess_singleton_isolated"]) == (COMMAND.argv, "1")
    told = Command(("x",), env={"OMPI_MCA_ess_singleton_isolated": "0"})
    assert launch_alone(told).env == told.env
