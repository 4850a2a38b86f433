"""What makes a machine a poor place to measure on, in sentences: why it harms the numbers, what to do.

Pure: it judges what the collector `environment` found. Used by `steelyard doctor`, and recorded with a run
so that its report can say the same years later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.evidence.mounts import FileSystem, find_disk, is_encrypted
from steelyard.units import show

Severity = Literal["bad", "warning", "info"]
Found = Mapping[str, Any]

_FEW_BYTES = 2 << 30
_ELSEWHERE = "Use --scratch DIR to name a directory on the disk to measure."
_ENCRYPTION = "Encryption costs CPU for each byte, so results may reflect the cipher, not the disk."
# File system types, severity, why, what to do; the first that matches counts.
_PLACES: tuple[tuple[str, Severity, str, str], ...] = (
    ("tmpfs|ramfs", "bad", "It is in memory, so no disk is measured.", _ELSEWHERE),
    (
        "overlay|overlayfs|aufs",
        "bad",
        "The first write to a file copies it, and direct I/O may be refused or may not be direct.",
        "Mount a volume into the container and give it with --scratch DIR.",
    ),
    (r"ecryptfs|fuse\.(encfs|gocryptfs|cryfs|securefs)", "warning", _ENCRYPTION, _ELSEWHERE),
    (
        "nfs4?|cifs|smb3|smbfs|9p|ceph|lustre|gpfs|beegfs|afs|panfs|virtiofs|"
        r"fuse\.(ceph.*|gcsfuse|glusterfs|goofys|rclone|s3fs|sshfs)",
        "warning",
        "Other hosts share it, so results include their traffic and the server's cache.",
        "If that is intended, measure at quiet hours; otherwise give a local directory with --scratch DIR.",
    ),
    (
        r"fuse\..*",
        "warning",
        "Each call goes through a user-space process, which may cost more than the disk.",
        _ELSEWHERE,
    ),
)
_STEADY_CLOCKS = re.compile(
    r"tsc|kvm-clock|arch_sys_counter|hyperv_clocksource.*|timebase|tod|riscv_clocksource|xen"
)
_SEVERITIES = ("bad", "warning", "info")


@dataclass(frozen=True, slots=True)
class Advice:
    """One finding. `bad`: results would mislead; `warning`: they scatter or shift; `info`: good to know."""

    severity: Severity
    what: str
    why: str
    what_to_do: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why} {self.what_to_do}"


def assess_environment(
    environment: Found, scratch: FileSystem | None, *, free: int | None = None
) -> list[Advice]:
    """All findings, the worst first.

    `environment`: what `Environment().parse` returned. `scratch`: the file system under the scratch
    directory, `free` the bytes free on it; None where unknown, then nothing is said of it.
    """
    notes = [*_check_scratch(environment, scratch), *_check_space(free)]
    for judge in _JUDGES:
        notes += judge(environment)
    return sorted(notes, key=lambda item: _SEVERITIES.index(item.severity))


def _check_scratch(environment: Found, scratch: FileSystem | None) -> Iterator[Advice]:
    if scratch is None:
        return
    for types, severity, why, do in _PLACES:
        if re.fullmatch(types, scratch.type):
            yield Advice(severity, f"the scratch directory is on {scratch.type}", why, do)
            break
    if _is_scratch_encrypted(environment, scratch):
        yield Advice("warning", "the scratch directory is on an encrypted device", _ENCRYPTION, _ELSEWHERE)


def _is_scratch_encrypted(environment: Found, scratch: FileSystem) -> bool:
    devices = environment.get("block_devices", {})
    disk = find_disk(scratch.number, devices)
    return disk is not None and is_encrypted(disk, devices)


def _check_space(free: int | None) -> Iterator[Advice]:
    if free is not None and free < _FEW_BYTES:
        why = "A nearly full file system fragments new files, and a trial fails when it is full."
        do = "Free some space, or give a larger place with --scratch DIR."
        yield Advice("warning", f"only {show(free, 'B')} are free for the scratch directory", why, do)


def _check_power(environment: Found) -> Iterator[Advice]:
    batteries = [s for s in environment.get("power", {}).values() if s.get("type") == "Battery"]
    if any(supply.get("status") == "Discharging" for supply in batteries):
        why = "On battery power, the firmware lowers clock rates, more so as the charge falls."
        yield Advice("bad", "this machine runs on its battery", why, "Connect mains power first.")
    elif batteries:
        why = "A laptop slows down as it warms up, so later trials may be slower than earlier ones."
        yield Advice(
            "info", "this machine has a battery", why, "Stay on mains power; keep the order of trials random."
        )


def _check_frequency(environment: Found) -> Iterator[Advice]:
    frequency = environment.get("frequency", {})
    slow = sorted(name for name in frequency.get("governors", {}) if name != "performance")
    if slow:
        why = "The clock follows the load, so short or light work runs below the CPU's highest clock."
        do = "As root: cpupower frequency-set -g performance."
        level: Severity = "warning" if "powersave" in slow else "info"
        yield Advice(level, f"the CPU frequency governor is {', '.join(slow)}", why, do)
    if frequency.get("turbo"):
        why = "A core's speed depends on how many other cores are busy and how warm they are."
        do = "For the least scatter, turn it off in the firmware or under /sys/devices/system/cpu."
        yield Advice("info", "turbo is on", why, do)


def _check_memory(environment: Found) -> Iterator[Advice]:
    memory = environment.get("memory", {})
    if used := memory.get("swap_used"):
        why = "Reading pages back from swap stalls the program and keeps a disk busy."
        level: Severity = "warning" if used > memory.get("total", 0) / 100 else "info"
        yield Advice(
            level, f"{show(used, 'B')} of swap are in use", why, "Free some memory, or as root: swapoff -a."
        )
    if memory.get("transparent_huge_pages") == "always":
        why = "The kernel merges and splits huge pages at unpredictable times, which delays some operations."
        do = "Database vendors recommend madvise: /sys/kernel/mm/transparent_hugepage/enabled."
        yield Advice("info", "transparent huge pages are always on", why, do)


def _check_load(environment: Found) -> Iterator[Advice]:
    threads = environment.get("cpu", {}).get("threads", 1)
    recent = next(iter(environment.get("load", {}).get("averages", [])), 0.0)
    if recent > max(0.5, 0.05 * threads):
        why = "Other programs take CPU, memory bandwidth and disk from the measured program."
        do = "Find the cause with `top`, then wait for it or end it; disturbed trials are marked."
        yield Advice("warning", f"the load average of the last minute is {recent:g}", why, do)


def _check_virtual_machine(environment: Found) -> Iterator[Advice]:
    if machine := environment.get("virtual", {}).get("machine"):
        why = (
            "Neighbours on the same hardware take time unseen here, and the disk has further caches below it."
        )
        do = "Repeat at different hours, and state with the result that it is from a virtual machine."
        yield Advice("info", f"this is a virtual machine ({machine})", why, do)


def _check_container(environment: Found) -> Iterator[Advice]:
    if container := environment.get("virtual", {}).get("container"):
        why = "The host's other containers share CPU, page cache and disk, and limits may apply."
        yield Advice(
            "info",
            f"this is a container ({container})",
            why,
            "If possible, compare with a run on the bare host.",
        )


def _check_limits(environment: Found) -> Iterator[Advice]:
    quota = environment.get("limits", {}).get("cpu")
    if quota is not None:
        why = "When a period's quota is used up, everything stops until the next period, some 0.1 s later."
        do = "Run without a quota, or bind to entire cores instead (cpuset)."
        yield Advice("warning", f"a CPU quota of {quota:g} cores applies", why, do)
    if environment.get("cpu", {}).get("threads") == 1:
        why = "The measured program, the kernel's work for it and Steelyard itself share it."
        yield Advice("warning", "there is only one CPU", why, "Use a machine with at least two CPUs.")


def _check_kernel(environment: Found) -> Iterator[Advice]:
    clock = environment.get("kernel", {}).get("clock_source")
    if clock and not _STEADY_CLOCKS.fullmatch(clock):
        why = "Reading the time then takes a microsecond or more, which tools such as fio pay for each I/O."
        do = "Find out why the kernel rejected the tsc: dmesg | grep -i clocksource."
        yield Advice("warning", f"the clock source is {clock}", why, do)
    states = environment.get("cpu", {}).get("mitigations", {})
    active = [name for name, state in states.items() if state.startswith("Mitigation")]
    if active:
        why = "Each system call pays for them; compare results only with machines that have the same ones."
        yield Advice(
            "info", f"{len(active)} CPU mitigations are active", why, "They are recorded with the run."
        )


_JUDGES: tuple[Callable[[Found], Iterator[Advice]], ...] = (
    _check_power,
    _check_frequency,
    _check_load,
    _check_limits,
    _check_memory,
    _check_kernel,
    _check_virtual_machine,
    _check_container,
)
