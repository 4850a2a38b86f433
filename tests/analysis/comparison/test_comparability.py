from __future__ import annotations

import copy

import pytest

from steelyard.analysis.comparison.comparability import check_alike, differences
from steelyard.errors import StoreError, UsageError

MACHINE = {
    "cpu": {"model": "A", "threads": 2},
    "memory": {"total": 24 << 30, "available": 1 << 30},
    "kernel": {"release": "6.1"},
    "load": {"averages": [0.1, 0.2, 0.3]},
    "scratch": {"type": "ext4", "device": "/dev/sda1", "free": 1 << 40},
    "tools": {"version of fio": "fio-3.33"},
    "experiment": {"commit": "a" * 40, "dirty": False},
    "hosts": [{"name": "one"}],
}
WORK = {"use": "command", "measured": True, "copies": 1, "options": {"run": ["./a", "-n", "1"]}}


def told(before, after):
    return [
        str(one)
        for one in differences(*(side if isinstance(side, list) else [side] for side in (before, after)))
    ]


@pytest.fixture
def made(build):
    """`made(cpu={"model": "B"}, design={…})`: a run on a machine that differs so."""

    def make(design=None, **sections):
        machine = copy.deepcopy(MACHINE)
        for name, changes in sections.items():
            machine[name] = {**machine[name], **changes} if isinstance(changes, dict) else changes
        return build(environment=machine, design={"workload": [WORK], **(design or {})})

    return make


def test_a_run_is_like_itself_and_like_its_repetition_at_another_hour(made):
    assert told(made(), made(load={"averages": [9]}, memory={"available": 5}, scratch={"free": 1})) == []


def test_options_are_told_by_their_place_in_the_file_and_need_no_leave(made):
    other = {**WORK, "copies": 2, "timeout": None, "options": {"run": ["./b", "-n", "1"], "stdin": ""}}
    runs = (
        made(),
        made({"workload": [other], "tags": {"build": 7}}, experiment={"commit": "b" * 40, "dirty": True}),
    )
    assert told(*runs) == [
        "workload.copies: 1 -> 2",
        "workload.run: ./a -n 1 -> ./b -n 1",
        f"commit of the experiment: {'a' * 12} -> {'b' * 12} with changes",
        "tags.build: none -> 7",
    ]
    check_alike(runs, differences(*([run] for run in runs)), across=False)


def test_parts_of_a_workload_are_told_by_their_number(made):
    parts = [WORK, {**WORK, "measured": False}]
    after = [WORK, {**WORK, "measured": False, "options": {"run": "x"}}]
    assert told(made({"workload": parts}), made({"workload": after})) == ["workload.2.run: ./a -n 1 -> x"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"cpu": {"model": "B"}}, "CPU: A -> B"),
        ({"kernel": {"release": "6.2"}}, "kernel: 6.1 -> 6.2"),
        ({"memory": {"total": 48 << 30}}, "memory: 24.0 GiB -> 48.0 GiB"),
        ({"tools": {"version of fio": "fio-3.36"}}, "version of fio: fio-3.33 -> fio-3.36"),
        ({"scratch": {"device": "tmpfs"}}, "device of the scratch: /dev/sda1 -> tmpfs"),
        ({"hosts": [{"name": "two", "type": "c4.large"}]}, "hosts: one -> two c4.large"),
        (
            {"hosts": [{"name": "one"}, {"name": "two", "environment": {**MACHINE, "cpu": {"model": "B"}}}]},
            "CPU: A -> A, B",
        ),
    ],
)
def test_another_machine_or_tool_needs_leave(made, change, line):
    runs = made(), made(**change)
    found = differences(*([run] for run in runs))
    assert line in [str(one) for one in found if one.place]
    with pytest.raises(UsageError) as refused:
        check_alike(runs, found, across=False)
    assert line in refused.value.message
    assert "--across" in refused.value.hint
    check_alike(runs, found, across=True)


def test_what_a_run_did_not_come_to_record_differs_from_nothing(made, build):
    assert told(made(), build(design={"workload": [WORK]})) == [
        f"commit of the experiment: {'a' * 12} -> none"
    ]


def test_runs_of_one_side_that_differ_are_told(made):
    assert told([made(), made(cpu={"model": "B"})], made()) == ["CPU: A | B -> A"]


def test_another_workload_is_refused_whatever_is_given_leave(made):
    runs = made(), made({"workload": [{**WORK, "use": "fio"}]})
    with pytest.raises(UsageError, match=r"measures command; .* measures fio"):
        check_alike(runs, (), across=True)


def test_what_is_not_measured_may_be_another(made):
    prepared = {"workload": [{**WORK, "use": "fio", "measured": False}, WORK]}
    check_alike([made(), made(prepared)], (), across=False)


def test_a_hostile_record_is_a_store_error(made):
    for odd in ({"workload": [7]}, {"workload": {"a": 1}}):
        with pytest.raises(StoreError):
            told(made(), made(odd))
