"""Which machine this is."""

from __future__ import annotations

from pathlib import Path


def identify_machine() -> str:
    """What tells this machine from others while it is up; its containers and namespaces are this machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
