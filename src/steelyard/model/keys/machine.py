"""Settings of a whole machine: `roles: {db: {hosts: 1, machine: {swappiness: 10}}}`, each possibly a level.

They are no conditions of a process: all that runs on the machine feels them, so a file must allow them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import Field, StrictInt

from steelyard.errors import UsageError
from steelyard.model.expression import substitute
from steelyard.model.part import Part

ALLOWED = "machine-settings"
"""What a file must allow."""

DISK = "<disk>"
"""In a path: the disk on which the scratch directory lies, as MAJOR:MINOR."""


class _Kind(NamedTuple):
    path: str
    form: str
    example: str


_HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
_KINDS: Mapping[str, _Kind] = {
    "huge_pages": _Kind("/proc/sys/vm/nr_hugepages", r"\d{1,9}", "a number of pages"),
    "transparent_huge_pages": _Kind(_HUGE, "always|madvise|never", "always, madvise or never"),
    "io_scheduler": _Kind(
        f"/sys/dev/block/{DISK}/queue/scheduler", "[a-z][a-z0-9-]{0,31}", "none, mq-deadline, kyber or bfq"
    ),
    "swappiness": _Kind("/proc/sys/vm/swappiness", r"1?\d?\d|200", "a number from 0 to 200"),
}


class MachineSettings(Part):
    """What the machines of a role are to be set to while a trial runs; null leaves a setting as it is."""

    huge_pages: StrictInt | str | None = Field(None, description="Huge pages that the kernel keeps ready")
    transparent_huge_pages: str | None = Field(
        None, description="Whether the kernel uses huge pages by itself: always, madvise, never"
    )
    io_scheduler: str | None = Field(
        None, description="The I/O scheduler of the disk with the scratch directory: none, mq-deadline …"
    )
    swappiness: StrictInt | str | None = Field(
        None, description="How readily the kernel swaps, from 0 to 200; more is sooner"
    )

    def settings(self) -> dict[str, Any]:
        """All that may hold `${…}`."""
        return self.model_dump(exclude_none=True)


class MachineSetting(NamedTuple):
    """A file of the kernel, with what it is to say."""

    key: str
    path: str
    value: str


def read_settings(asked: MachineSettings, levels: Mapping[str, Any]) -> list[MachineSetting]:
    """Those of a cell. Raises UsageError that names the key, ExpressionError."""
    settings = []
    for key, value in substitute(asked.settings(), levels).items():
        if value is None:
            continue
        kind = _KINDS[key]
        if isinstance(value, bool) or not re.fullmatch(kind.form, str(value), re.ASCII):
            raise UsageError(f"{key}: {value!r} is not {kind.example}")
        settings.append(MachineSetting(key, kind.path, str(value)))
    return settings


def parse_setting(content: str) -> str:
    """What a file of the kernel says; of several choices, that in brackets."""
    chosen = re.search(r"\[([^\]]+)\]", content)
    return chosen[1] if chosen else content.strip()
