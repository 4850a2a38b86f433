"""The machine and its state before a run: what one needs to know to repeat a result, or to doubt it.

Nothing of an environment variable's value is recorded, no host name, no serial number, and nothing that
looks like a password on a command line or in a mount.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from steelyard.evidence.base import Evidence
from steelyard.evidence.cgroup import LIMIT_FILES, limits
from steelyard.evidence.machine import MACHINE_FILES, cpu, frequency, memory, power
from steelyard.evidence.mounts import BLOCK_FILES, FileSystem, block_devices, find_file_system, mounts
from steelyard.evidence.raw import Raw, drop_empty, match_files, parse_pairs, read_word
from steelyard.evidence.secrets import redact
from steelyard.model.tool import Tool

__all__ = ["EnvironmentEvidence", "FileSystem", "commands", "find_file_system", "variables"]

_DMI = "/sys/class/dmi/id"
_CLOCK = "/sys/devices/system/clocksource/clocksource0"
_VIRTUAL = re.compile(r"kvm|qemu|virtual|vmware|xen|bochs|parallels|bhyve|firecracker", re.IGNORECASE)
_CONTAINER = re.compile(r"docker|kubepods|libpod|containerd|lxc|garden")
_COMMIT = re.compile(r"^([0-9a-f]{40}|[0-9a-f]{64})$", re.MULTILINE)
_CHANGED = re.compile(r"^[ MTADRCU]{2} ", re.MULTILINE)

# Variables that change what is measured. Their names are recorded when they are set, their values never.
_TELLING = re.compile(
    r"GLIBC_TUNABLES|GOMP_CPU_AFFINITY|KMP_AFFINITY|LD_LIBRARY_PATH|LD_PRELOAD|MALLOC_ARENA_MAX|"
    r"(MKL|OMP|OPENBLAS)_NUM_THREADS|OMP_PLACES|OMP_PROC_BIND"
)


class EnvironmentEvidence(Evidence):
    """Hardware, kernel, memory, mounts, disks, limits and load of a host."""

    files = (
        *MACHINE_FILES,
        *BLOCK_FILES,
        *LIMIT_FILES,
        "/proc/sys/kernel/osrelease",
        "/proc/sys/kernel/version",
        "/proc/cmdline",
        "/proc/loadavg",
        "/proc/uptime",
        "/proc/self/cgroup",
        "/proc/self/mountinfo",
        "/etc/os-release",
        "/.dockerenv",
        "/run/.containerenv",
        "/run/systemd/container",
        "/sys/hypervisor/type",
        *(f"{_DMI}/{name}" for name in ("sys_vendor", "product_name", "board_name")),
        *(f"{_CLOCK}/{name}_clocksource" for name in ("current", "available")),
    )

    def parse(self, raw: Mapping[str, str]) -> dict[str, Any]:
        """What is known of the host, by section; also of the commands of `commands`, where they were run."""
        sections: dict[str, Any] = {}
        unreadable = []
        for name, section in _SECTIONS.items():
            try:
                sections[name] = section(raw)
            except (ValueError, LookupError, ArithmeticError):
                unreadable.append(name)
        return drop_empty(**sections, unreadable=unreadable)


def commands(tools: Iterable[Tool], folder: PurePosixPath | str | None = None) -> dict[str, tuple[str, ...]]:
    """The commands whose output `parse` understands: versions of tools, git commit of a folder.

    Git is kept from running anything that the folder's own configuration names, and from writing to it.
    """
    queries = {f"version of {tool.name}": tool.argv(*tool.version) for tool in tools}
    if folder is not None:
        git = ("git", "-c", "core.fsmonitor=false", "--no-optional-locks", "-C", str(folder))
        queries["git commit"] = (*git, "rev-parse", "HEAD")
        queries["git status"] = (*git, "status", "--porcelain", "--untracked-files=no")
    return queries


def variables(environ: Mapping[str, str]) -> list[str]:
    """The names, and only the names, of the variables that are set and known to change what is measured."""
    return sorted(filter(_TELLING.fullmatch, environ))


def _kernel(raw: Raw) -> dict[str, Any]:
    return drop_empty(
        release=read_word(raw, "/proc/sys/kernel/osrelease"),
        version=read_word(raw, "/proc/sys/kernel/version"),
        command_line=redact(raw.get("/proc/cmdline", "")),
        clock_source=read_word(raw, f"{_CLOCK}/current_clocksource"),
        clock_sources=raw.get(f"{_CLOCK}/available_clocksource", "").split(),
    )


def _system(raw: Raw) -> dict[str, Any]:
    release = parse_pairs(raw.get("/etc/os-release", ""), "=")
    named = {name: release.get(field, "").strip("\"'") for name, field in _RELEASE.items()}
    hardware = {
        name: read_word(raw, f"{_DMI}/{name}") for name in ("sys_vendor", "product_name", "board_name")
    }
    return drop_empty(**named, **hardware)


def _virtualization(raw: Raw) -> dict[str, str]:
    """`machine` when this is a virtual machine, `container` when it is a container."""
    flags = parse_pairs(raw.get("/proc/cpuinfo", "").partition("\n\n")[0], ":").get("flags", "").split()
    product = read_word(raw, f"{_DMI}/product_name") or ""
    machine = read_word(raw, "/sys/hypervisor/type") or (product if _VIRTUAL.search(product) else None)
    if machine is None and "hypervisor" in flags:
        machine = product or "unnamed hypervisor"
    return drop_empty(machine=machine, container=_container(raw))


def _container(raw: Raw) -> str | None:
    if named := read_word(raw, "/run/systemd/container"):
        return named
    if "/run/.containerenv" in raw:
        return "podman"
    if "/.dockerenv" in raw:
        return "docker"
    match = _CONTAINER.search(raw.get("/proc/self/cgroup", ""))
    return match[0] if match else None


def _load_averages(raw: Raw) -> dict[str, Any]:
    """Load averages over 1, 5, 15 minutes; uptime in seconds."""
    averages = [float(field) for field in raw.get("/proc/loadavg", "").split()[:3]]
    uptime = [float(field) for field in raw.get("/proc/uptime", "").split()[:1]]
    if not all(map(math.isfinite, averages + uptime)):
        raise ValueError("a load that is not a number")
    return drop_empty(averages=averages, uptime=next(iter(uptime), None))


def _tools(raw: Raw) -> dict[str, str]:
    """The first line that each tool prints of its version."""
    said = match_files(raw, "version of *")
    return {
        name: redact(text.split("\n")[0])[:200] for name, output in said.items() if (text := output.strip())
    }


def _experiment(raw: Raw) -> dict[str, Any]:
    """`commit` of the experiment's folder; `dirty`: files that git tracks were changed since."""
    commit = _COMMIT.search(raw.get("git commit", ""))
    status = raw.get("git status")
    dirty = None if commit is None or status is None else bool(_CHANGED.search(status))
    return drop_empty(commit=commit[1] if commit else None, dirty=dirty)


_RELEASE = {"name": "NAME", "version": "VERSION", "id": "ID", "pretty_name": "PRETTY_NAME"}
_SECTIONS: Mapping[str, Callable[[Raw], Any]] = {
    "cpu": cpu,
    "frequency": frequency,
    "memory": memory,
    "power": power,
    "kernel": _kernel,
    "system": _system,
    "virtual": _virtualization,
    "limits": limits,
    "load": _load_averages,
    "mounts": lambda raw: mounts(raw.get("/proc/self/mountinfo", "")),
    "block_devices": block_devices,
    "tools": _tools,
    "experiment": _experiment,
    "controller": lambda _raw: {"python": sys.version.split()[0]},
}
