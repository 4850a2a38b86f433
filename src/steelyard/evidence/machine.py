"""Processor, memory, power: what of a machine has a say in its speed.

Sources: the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu and sysfs-class-power; proc(5).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from steelyard.evidence.raw import (
    Raw,
    drop_empty,
    match_files,
    parse_number,
    parse_pairs,
    parse_selection,
    read_number,
    read_word,
)

_CPU = "/sys/devices/system/cpu"
_THP = "/sys/kernel/mm/transparent_hugepage"

MACHINE_FILES = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/swaps",
    "/proc/self/status",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_background_ratio",
    f"{_CPU}/online",
    f"{_CPU}/smt/active",
    f"{_CPU}/cpu*/topology/physical_package_id",
    f"{_CPU}/cpu*/topology/core_id",
    f"{_CPU}/vulnerabilities/*",
    *(f"{_CPU}/cpu0/cache/index*/{name}" for name in ("level", "type", "size", "shared_cpu_list")),
    *(f"{_CPU}/cpufreq/policy*/scaling_{name}" for name in ("driver", "governor", "min_freq", "max_freq")),
    f"{_CPU}/cpufreq/boost",
    f"{_CPU}/intel_pstate/no_turbo",
    "/sys/devices/system/node/node*/cpulist",
    f"{_THP}/enabled",
    f"{_THP}/defrag",
    *(f"/sys/class/power_supply/*/{name}" for name in ("type", "status", "online")),
)


def cpu(raw: Raw) -> dict[str, Any]:
    """Model, counts, flags, caches (bytes). `allowed`: the cores that our process may use, as a list."""
    text = raw.get("/proc/cpuinfo", "")
    first = parse_pairs(text.partition("\n\n")[0], ":")
    packages, cores = (
        match_files(raw, f"{_CPU}/cpu*/topology/{n}") for n in ("physical_package_id", "core_id")
    )
    return drop_empty(
        model=first.get("model name") or first.get("cpu model") or _arm_model(first),
        vendor=first.get("vendor_id"),
        microcode=first.get("microcode"),
        sockets=len(set(packages.values())) or None,
        cores=len({(packages.get(name), core) for name, core in cores.items()}) or None,
        threads=len(cores) or text.count("processor\t") or None,
        allowed=parse_pairs(raw.get("/proc/self/status", ""), ":").get("Cpus_allowed_list"),
        simultaneous_threads=_flag(read_number(raw, f"{_CPU}/smt/active")),
        flags=(first.get("flags") or first.get("Features") or "").split(),
        caches=_caches(raw),
        mitigations=match_files(raw, f"{_CPU}/vulnerabilities/*"),
        nodes=match_files(raw, "/sys/devices/system/node/node*/cpulist"),
    )


def frequency(raw: Raw) -> dict[str, Any]:
    """Driver, how many policies have which governor, limits in Hz, whether turbo is on."""
    policies = {n: match_files(raw, f"{_CPU}/cpufreq/policy*/scaling_{n}") for n in ("driver", "governor")}
    limits = {
        n: match_files(raw, f"{_CPU}/cpufreq/policy*/scaling_{n}_freq").values() for n in ("min", "max")
    }
    slowest, fastest = ([hz * 1000 for hz in map(parse_number, limits[n]) if hz] for n in ("min", "max"))
    no_turbo, boost = (
        read_number(raw, f"{_CPU}/intel_pstate/no_turbo"),
        read_number(raw, f"{_CPU}/cpufreq/boost"),
    )
    return drop_empty(
        driver=next(iter(policies["driver"].values()), None),
        governors=dict(Counter(policies["governor"].values())),
        minimum=min(slowest, default=None),
        maximum=max(fastest, default=None),
        turbo=_flag(boost) if no_turbo is None else not no_turbo,
    )


def memory(raw: Raw) -> dict[str, Any]:
    """Sizes in bytes, huge pages as counts, the page cache's limits in per cent of memory."""
    meminfo = parse_pairs(raw.get("/proc/meminfo", ""), ":")
    total, free = _bytes(meminfo.get("SwapTotal")), _bytes(meminfo.get("SwapFree"))
    return drop_empty(
        total=_bytes(meminfo.get("MemTotal")),
        available=_bytes(meminfo.get("MemAvailable")),
        swap_total=total,
        swap_used=None if total is None or free is None else total - free,
        swaps=[line.split()[0] for line in raw.get("/proc/swaps", "").splitlines()[1:] if line.split()],
        swappiness=read_number(raw, "/proc/sys/vm/swappiness"),
        huge_pages=parse_number(meminfo.get("HugePages_Total")),
        huge_page_size=_bytes(meminfo.get("Hugepagesize")),
        transparent_huge_pages=parse_selection(read_word(raw, f"{_THP}/enabled")),
        transparent_huge_pages_defrag=parse_selection(read_word(raw, f"{_THP}/defrag")),
        dirty_ratio=read_number(raw, "/proc/sys/vm/dirty_ratio"),
        dirty_background_ratio=read_number(raw, "/proc/sys/vm/dirty_background_ratio"),
    )


def power(raw: Raw) -> dict[str, dict[str, str]]:
    """Batteries and mains by name: `type`, `status`, `online`."""
    supplies: dict[str, dict[str, str]] = {}
    for field in ("type", "status", "online"):
        for name, text in match_files(raw, f"/sys/class/power_supply/*/{field}").items():
            supplies.setdefault(name, {})[field] = text
    return supplies


def _caches(raw: Raw) -> list[dict[str, Any]]:
    fields = {
        n: match_files(raw, f"{_CPU}/cpu0/cache/index*/{n}")
        for n in ("level", "type", "size", "shared_cpu_list")
    }
    return [
        drop_empty(
            level=parse_number(fields["level"].get(index)),
            type=fields["type"].get(index),
            bytes=_bytes(fields["size"].get(index)),
            shared_by=fields["shared_cpu_list"].get(index),
        )
        for index in sorted(fields["level"])
    ]


def _arm_model(first: dict[str, str]) -> str | None:
    """ARM names no model: `implementer 0x41 part 0xd0c` at least tells two apart."""
    maker, part = first.get("CPU implementer"), first.get("CPU part")
    return f"implementer {maker} part {part}" if maker and part else None


def _bytes(text: str | None) -> int | None:
    """`32768K` of sysfs and `24684092 kB` of meminfo."""
    kib = parse_number((text or "").rstrip("kKB").strip())
    return None if kib is None else kib * 1024


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)
