"""A service that is a level."""

from __future__ import annotations

from steelyard.model.lifetimes import group_cells
from steelyard.model.space import cells
from steelyard.model.trial import Cell
from steelyard.spec.bind import list_tools
from steelyard.spec.load import check_tree
from steelyard.spec.service_kinds import resolve_service, variants

TREE = {
    "experiment": "kinds",
    "parameters": {"kind": ["redis", "memcached"], "size": [1, 2]},
    "services": {
        "kv": {
            "use": "${kind}",
            "on": "host",
            "port": 7000,
            "redis": {"maxmemory": "${size * 64}MiB"},
            "memcached": {"threads": 1},
        }
    },
    "workload": {"use": "command", "to": "kv", "run": ["echo", "${kv.port}"]},
}


def test_each_kind_has_its_own_options_and_those_of_all():
    experiment, faults = check_tree(TREE)
    assert faults == []
    use = experiment.services["kv"]
    redis, memcached = (resolve_service(use, {"kind": kind, "size": 1}) for kind in ("redis", "memcached"))
    assert (redis.use, redis.options) == ("redis", {"port": 7000, "maxmemory": "${size * 64}MiB"})
    assert (memcached.use, memcached.options) == ("memcached", {"port": 7000, "threads": 1})
    assert [one.use for one in variants(use, experiment)] == ["redis", "memcached"]
    assert resolve_service(redis, {}) is redis


def test_a_script_of_one_kind_is_the_shells():
    kv = {
        **TREE["services"]["kv"],
        "use": "${which}",
        "program": {"script": "x ${HOME:-y} ${self.port} $size"},
    }
    del kv["redis"]
    tree = {**TREE, "parameters": {"which": ["program", "memcached"], "size": [1, 2]}, "services": {"kv": kv}}
    experiment, faults = check_tree(tree)
    assert faults == []
    assert len(group_cells(experiment, cells(experiment, 1))) == 4
    kv["program"]["script"] = "x ${self.prot} ${kv.port}"
    found = [(fault.path, fault.message) for fault in check_tree(tree)[1]]
    assert (
        ("services", "kv", "program", "script"),
        "'self.prot': 'self' has no 'prot'; did you mean 'port'?",
    ) in found
    assert (("services", "kv"), "'kv' refers to itself; write ${self.port}") in found


def test_cells_of_one_kind_and_option_share_a_deployment():
    experiment, _ = check_tree(TREE)
    found = group_cells(experiment, cells(experiment, 1))
    assert [[cell.parameters["kind"] for cell in group] for group in found] == [
        ["redis"],
        ["redis"],
        ["memcached"],
        ["memcached"],
    ]


def test_all_kinds_say_what_they_need():
    experiment, _ = check_tree(TREE)
    tools = {tool.name for tool in list_tools(experiment, cells(experiment, 1))}
    assert {"redis-server", "memcached"} <= tools
    one = {tool.name for tool in list_tools(experiment, [Cell({"kind": "memcached", "size": 1})])}
    assert "redis-server" not in one


def test_a_service_is_not_called_as_what_stands_for_itself():
    for name in ("self", "experiment"):
        tree = {
            **TREE,
            "services": {name: {"use": "redis", "on": "host"}},
            "workload": {"use": "command", "run": ["x"]},
        }
        (fault,) = check_tree(tree)[1]
        assert (fault.path, fault.at_key) == (("services", name), True)
        assert f"'{name}' has another meaning" in fault.message
