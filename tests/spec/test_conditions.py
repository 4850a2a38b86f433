"""Which environments are meant by a name, and which of them take an image."""

from __future__ import annotations

import pytest

from steelyard.cli.app import run as call_steelyard
from steelyard.errors import UsageError
from steelyard.model.environment import find_form
from steelyard.model.experiment import Experiment
from steelyard.model.keys.uses import ServiceUse, WorkloadUse
from steelyard.model.space import cells
from steelyard.spec.bind import list_caveats
from steelyard.spec.conditions import find_environments, read_conditions


def name_all(inside, image):
    return [one.name for one in find_environments(inside, image)]


def test_the_form_of_an_image_is_told_by_its_name():
    forms = {
        None: "host",
        "/a/root": "directory",
        "a.sif": "sif",
        "/a/b.sqfs": "squashfs",
        "debian:12": "name",
    }
    assert {image: find_form(image) for image in forms} == forms


def test_a_container_is_any_that_takes_the_image():
    assert name_all("container", "debian:12") == ["podman", "apptainer"]
    assert name_all("container", "tool.sif") == ["apptainer"]
    assert name_all("container", "/images/debian")[0] == "bubblewrap"
    assert name_all("container", None) == ["bubblewrap", "gvisor"]
    assert name_all("podman", "/images/debian") == ["podman"]


@pytest.mark.parametrize(
    ("inside", "image", "says"),
    [
        ("podman", None, "podman needs an image"),
        ("bubblewrap", "debian:12", "bubblewrap cannot run debian:12, a name; it takes a directory"),
    ],
)
def test_one_that_does_not_take_an_image_is_refused(inside, image, says):
    with pytest.raises(UsageError, match=says):
        find_environments(inside, image)


def test_levels_name_environments():
    use = WorkloadUse(use="command", wrap={"in": "${where}", "image": "/images/debian"})
    assert not read_conditions(use, {"where": "host"}).any
    assert [one.name for one in read_conditions(use, {"where": "gvisor"}).environments] == ["gvisor"]
    with pytest.raises(UsageError, match=r"in: .*'podmann'.*; there are host, container, guest, apptainer, "):
        read_conditions(use, {"where": "podmann"})


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (
            WorkloadUse(use="command", wrap={"in": "guest", "cores": 2}),
            "cores: 2 are asked for, and guest has 1 core$",
        ),
        (
            WorkloadUse(use="command", wrap={"in": "uml", "cpus": "0-3"}),
            "cpus: 4 are asked for, and uml has 1 core",
        ),
        (WorkloadUse(use="ycsb", to="kv", wrap={"in": "uml"}), "in: uml has no network, which `to` needs"),
        (
            WorkloadUse(use="command", ranks=2, wrap={"in": "uml"}),
            "in: uml has no network, which `ranks` needs",
        ),
        (ServiceUse(use="redis", wrap={"in": "guest"}), "in: uml has no network, which a service needs"),
    ],
)
def test_what_a_guest_does_not_have_is_refused(use, says):
    with pytest.raises(UsageError, match=says):
        read_conditions(use, {})


def test_a_guest_says_what_its_figures_do_not_say():
    wraps = [{"in": inside} for inside in ("host", "guest", "uml", "bubblewrap")]
    file = {"experiment": "x", "parameters": {"in": ["host", "guest"]}}
    uses = [
        {"use": "command", "phase": f"p{at}", "run": ["true"], "wrap": wrap} for at, wrap in enumerate(wraps)
    ]
    experiment = Experiment.model_validate({**file, "workload": uses})
    [caveat] = list_caveats(experiment, cells(experiment, seed=1))
    assert caveat.startswith("uml: ")


def test_all_that_is_wrong_is_said_at_once(own_place, capsys):
    (own_place / "x.yaml").write_text(
        "experiment: x\nparameters: {where: [host, podmann]}\n"
        "workload: {use: command, run: ['true'], wrap: {in: '${where}', image: debian, cpus: all}}\n"
        "services: {kv: {use: redis, on: host, wrap: {in: charliecloud}}}\n"
    )
    assert call_steelyard(("plan", "x.yaml")) == 2
    said = capsys.readouterr().err
    assert "cpus: 'all' is not a list of numbers" in said
    assert "in: charliecloud needs an image" in said


def test_one_mistake_within_a_workload_gives_one_message(own_place, capsys):
    (own_place / "x.yaml").write_text(
        "experiment: x\nworkload: {use: command, run: ['true'], wrap: {memroy: 1GiB}}\n"
    )
    assert call_steelyard(("plan", "x.yaml")) == 2
    said = capsys.readouterr().err
    assert "unknown key 'memroy'; did you mean 'memory'?" in said
    assert "1 problem. Nothing was run." in said
