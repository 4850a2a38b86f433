"""From a name to the tools behind it."""

from __future__ import annotations

import pytest

from steelyard.errors import SpecError, UsageError
from steelyard.spec.tool_needs import all_tools, find_tools, installable_names


def named(name):
    return {tool.name for tool in find_tools(name)}


def test_a_workload_a_service_and_a_tool_stand_for_what_they_need():
    assert named("fio") == {"fio"}
    assert "redis-server" in named("redis")
    assert named("redis-benchmark") == {"redis-benchmark"} <= named("redis_benchmark")
    assert {tool.name for tool in all_tools()} <= set(installable_names())
    assert named("numactl") == {"numactl"}
    assert (named("prometheus"), named("gpu")) == ({"curl"}, {"nvidia-smi"})
    assert {"redis", "ycsb", "cassandra", "pgbench"} <= set(installable_names())


def test_a_file_stands_for_its_workloads_and_services(tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text(
        "experiment: x\nroles: {a: 1}\nservices: {store: {use: redis, on: a}}\n"
        "workload: {use: fio, on: a, job: {rw: read, size: 1m}}\n"
    )
    assert named(str(path)) == named("redis") | {"fio"}
    path.write_text(
        "experiment: x\nservices: {w: {use: program, run: [x]}}\nworkload: {use: command, run: [x]}\n"
        "collect: [telemetry, {use: prometheus, from: w, metrics: [a]}]\n"
    )
    assert named(str(path)) == {"bash", "curl"}
    path.write_text("experiment: x\nworkload: {use: fioo}\n")
    with pytest.raises(SpecError, match="did you mean 'fio'"):
        find_tools(str(path))


@pytest.mark.parametrize("name", ["foi", "no-such.yaml"])
def test_what_is_nothing_is_told(name):
    with pytest.raises(UsageError, match=r"foi|no-such\.yaml"):
        find_tools(name)
