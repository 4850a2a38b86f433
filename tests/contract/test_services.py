"""What every service must do, run over every service there is, with real servers on loopback addresses."""

from __future__ import annotations

import pytest

from steelyard.plugins import builtin_names, find
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Killable
from steelyard.testing.contract import ServiceContract
from steelyard.testing.contract.bench import bench, with_bench
from steelyard.testing.contract.suite import skip_without

__all__ = ["ENTERING", "bench", "needed", "with_bench"]

# What starts no servers has tests of its own.
NAMES = sorted(name for name in builtin_names("services") if not find("services", name, Service).is_external)
ENTERING = [
    "cassandra",
    "ceph",
    "etcd",
    "gridftp",
    "netbench",
    "postgresql",
    "redis",
    "s3",
    "scylladb",
    "webdav",
    "xrootd",
]
FIXED = {"glusterfs"}  # its daemons look for each other at one port only
GIVE_WAY = [*ENTERING, "iperf3", "memcached", "sockperf"]


class TestServices(ServiceContract):
    """Ours."""

    names = builtin_names("services")
    unprivileged = GIVE_WAY
    entering = ENTERING
    slow = ("ceph",)
    slow_marks = (pytest.mark.full,)
    some_doors = ("ceph",)


@pytest.mark.parametrize("name", NAMES)
def test_ours_can_all_be_killed_and_told_their_port(name):
    kind = find("services", name, Service)
    assert kind.examples
    assert issubclass(kind, Killable)
    assert "port" in kind.Options.model_fields or name in FIXED


def needed(name: str) -> None:
    skip_without(find("services", name, Service).needs)
