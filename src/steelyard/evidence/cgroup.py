"""Control groups: where ours lies, and what it may use. Source: the kernel's admin-guide/cgroup-v2.rst."""

from __future__ import annotations

from steelyard.evidence.raw import Raw, drop_empty, parse_number, read_number, read_word

_ROOT = "/sys/fs/cgroup"
LIMIT_FILES = (
    *(f"{_ROOT}{'/*' * depth}/{name}" for depth in range(4) for name in ("cpu.max", "memory.max")),
    f"{_ROOT}/cpu/cpu.cfs_quota_us",
    f"{_ROOT}/cpu/cpu.cfs_period_us",
)


def folders(self_cgroup: str, controller: str = "cpu") -> tuple[str, ...]:
    """Our control group and its parents, the root first, from the content of /proc/self/cgroup.

    A version 1 hierarchy of the controller goes before the unified one, as the kernel has it.
    """
    groups: dict[str, str] = {}
    for line in self_cgroup.splitlines():
        fields = line.split(":", 2)
        if len(fields) == 3:
            groups.update(dict.fromkeys(fields[1].split(","), fields[2]))
    root = f"{_ROOT}/{controller}" if controller in groups else _ROOT
    ours = groups.get(controller, groups.get(""))
    parts = [part for part in (ours or "").split("/") if part not in ("", "..")]
    return () if ours is None else tuple("/".join((root, *parts[:n])) for n in range(len(parts) + 1))


def limits(raw: Raw) -> dict[str, float]:
    """`cpu`: cores that the quota allows, `memory`: bytes; each left out when there is no limit."""
    ours = folders(raw.get("/proc/self/cgroup", "")) or (_ROOT,)
    cores = [_cores(read_word(raw, f"{folder}/cpu.max")) for folder in ours]
    cores.append(
        _cores(
            f"{raw.get(f'{_ROOT}/cpu/cpu.cfs_quota_us')} {read_number(raw, f'{_ROOT}/cpu/cpu.cfs_period_us')}"
        )
    )
    memory = [read_number(raw, f"{folder}/memory.max") for folder in ours]
    return drop_empty(
        cpu=min((value for value in cores if value), default=None),
        memory=min((value for value in memory if value), default=None),
    )


def _cores(text: str | None) -> float | None:
    """`200000 100000` (microseconds of CPU in each period) as 2.0; `max` and `-1` are no limit."""
    fields = [parse_number(field) for field in (text or "").split()]
    if len(fields) != 2 or not fields[0] or not fields[1] or fields[0] < 0:
        return None
    return fields[0] / fields[1]
