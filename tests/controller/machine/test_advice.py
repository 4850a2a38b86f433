from __future__ import annotations

from typing import Any

import pytest

from steelyard.controller.machine.advice import assess_environment
from steelyard.evidence.environment import FileSystem


def on(kind: str, number: str = "8:1") -> FileSystem:
    return FileSystem("/scratch", kind, "/dev/x", ("rw",), number)


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("tmpfs", "bad"),
        ("overlay", "bad"),
        ("fuse.gocryptfs", "warning"),
        ("nfs4", "warning"),
        ("lustre", "warning"),
        ("fuse.sshfs", "warning"),
        ("fuse.bindfs", "warning"),
    ],
)
def test_a_poor_place_for_scratch(kind: str, severity: str) -> None:
    (found,) = assess_environment({}, on(kind))
    assert found.severity == severity
    assert found.what == f"the scratch directory is on {kind}"


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "f2fs"])
def test_a_good_place_for_scratch(kind: str) -> None:
    assert assess_environment({}, on(kind)) == []


def test_an_encrypted_disk_below_the_file_system() -> None:
    devices = {
        "sda": {"number": "8:0", "partitions": {"sda1": "8:1"}},
        "dm-0": {"number": "252:0", "encrypted": True, "below": {"sda1": "8:1"}},
    }
    assert assess_environment({"block_devices": devices}, on("ext4", "8:1")) == []
    (found,) = assess_environment({"block_devices": devices}, on("ext4", "252:0"))
    assert "encrypted" in found.what


@pytest.mark.parametrize(
    ("environment", "severity", "what"),
    [
        ({"power": {"BAT0": {"type": "Battery", "status": "Discharging"}}}, "bad", "runs on its battery"),
        ({"power": {"BAT0": {"type": "Battery", "status": "Full"}}}, "info", "has a battery"),
        ({"frequency": {"governors": {"powersave": 4}}}, "warning", "governor is powersave"),
        ({"frequency": {"governors": {"schedutil": 2, "performance": 2}}}, "info", "governor is schedutil"),
        ({"frequency": {"turbo": True}}, "info", "turbo is on"),
        ({"memory": {"swap_used": 2**30, "total": 2**33}}, "warning", "1.00 GiB of swap are in use"),
        ({"memory": {"swap_used": 2**20, "total": 2**33}}, "info", "1.00 MiB of swap are in use"),
        ({"memory": {"transparent_huge_pages": "always"}}, "info", "huge pages"),
        ({"load": {"averages": [0.6, 0.1, 0.1]}, "cpu": {"threads": 2}}, "warning", "last minute is 0.6"),
        ({"limits": {"cpu": 1.5}}, "warning", "a CPU quota of 1.5 cores"),
        ({"cpu": {"threads": 1}}, "warning", "only one CPU"),
        ({"kernel": {"clock_source": "acpi_pm"}}, "warning", "clock source is acpi_pm"),
        ({"cpu": {"mitigations": {"a": "Mitigation: x", "b": "Not affected"}}}, "info", "1 CPU mitigations"),
        ({"virtual": {"machine": "KVM"}}, "info", "virtual machine (KVM)"),
        ({"virtual": {"container": "docker"}}, "info", "container (docker)"),
    ],
)
def test_each_state_of_a_machine(environment: dict[str, Any], severity: str, what: str) -> None:
    (found,) = assess_environment(environment, None)
    assert found.severity == severity
    assert what in found.what
    assert found.why.endswith(".")
    assert found.what_to_do.endswith(".")


@pytest.mark.parametrize(
    "environment",
    [
        {"power": {"AC": {"type": "Mains", "online": "1"}}},
        {"frequency": {"governors": {"performance": 8}, "turbo": False}},
        {"memory": {"swap_used": 0, "total": 2**33, "transparent_huge_pages": "madvise"}},
        {"load": {"averages": [1.5, 9.0, 9.0]}, "cpu": {"threads": 64}},
        *({"kernel": {"clock_source": clock}} for clock in ("tsc", "kvm-clock", "arch_sys_counter")),
    ],
)
def test_nothing_is_said_of_a_sound_machine(environment: dict[str, Any]) -> None:
    assert assess_environment(environment, on("ext4"), free=2**40) == []


def test_few_free_bytes() -> None:
    (found,) = assess_environment({}, on("ext4"), free=2**29)
    assert found.what.startswith("only 512 MiB are free")


def test_the_worst_comes_first() -> None:
    environment = {"virtual": {"machine": "KVM"}, "limits": {"cpu": 2.0}}
    assert [item.severity for item in assess_environment(environment, on("tmpfs"))] == [
        "bad",
        "warning",
        "info",
    ]
