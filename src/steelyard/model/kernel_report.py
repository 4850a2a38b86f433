"""What the kernel says of a process, which has it told before the process becomes its program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from steelyard.model.command import Command
from steelyard.model.control_groups import REPORT, Limits, read_limits

TOLD = ".steelyard-kernel"
"""The file in the scratch of a process that holds what the kernel said of it."""

MOST_NODE = 1 << 16
# Written by the process itself before it becomes the program, so that no program is too short to be seen.
_TELL = (
    '{ cat "/proc/$$/status" "/proc/$$/stat"; head -n 1 "/proc/$$/numa_maps"; MORE} > "$0" 2>/dev/null || :; '
    'exec "$@"'
)
_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
_POLICIES = {"0": "other", "1": "fifo", "2": "rr", "3": "batch", "5": "idle"}  # sched(7), as /proc has them


def tell(command: Command, told: str, *, limits: bool = False) -> Command:
    """The command that first has the kernel speak of it, into a file; with `limits`, of its group, too."""
    script = _TELL.replace("MORE", "report; " if limits else "")
    return command.wrap("sh", "-c", REPORT + script if limits else script, told)


@dataclass(frozen=True, slots=True)
class KernelReport:
    """What the kernel says of a process; None where it does not."""

    cpus: tuple[int, ...] | None = None
    memory_nodes: tuple[int, ...] | None = None
    nice: int | None = None
    policy: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def cores(self) -> int | None:
        """How many CPUs it may use."""
        return len(self.cpus) if self.cpus else None

    @classmethod
    def from_text(cls, text: str) -> KernelReport:
        """From /proc/PID/status, /proc/PID/stat and the first line of /proc/PID/numa_maps, in a row, and what
        `control_groups.REPORT` says.

        Where numactl binds memory, that is the process's policy, which stands in numa_maps alone.
        """
        allowed = dict(re.findall(r"^(Cpus|Mems)_allowed_list:\s*([0-9,-]+)$", text, re.MULTILINE))
        bound = re.search(r"^[0-9a-f]+ bind(?:=\w+)?:([0-9,-]+) ", text, re.MULTILINE)
        stat = re.search(
            r"^\d+ \(.*\) [A-Za-z] (?:-?\d+ ){15}(-?\d+) (?:(?:-?\d+ ){21}(\d+) )?", text, re.MULTILINE
        )
        nodes = bound[1] if bound else allowed.get("Mems")
        return cls(
            parse_list(allowed.get("Cpus")),
            parse_list(nodes),
            int(stat[1]) if stat else None,
            _POLICIES.get(stat[2]) if stat else None,
            read_limits(text),
        )


def format_numbers(value: tuple[int, ...] | int | str | None) -> str:
    """As the kernel writes lists: 0-3,8."""
    if value is None:
        return "nothing"
    if isinstance(value, int | str):
        return str(value)
    spans: list[list[int]] = []
    for number in value:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def parse_list(text: str | None) -> tuple[int, ...] | None:
    """Numbers in order from 0-3,8; None for what is no such list."""
    if not text or not _LIST.fullmatch(text):
        return None
    numbers: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        numbers |= set(range(int(low), min(int(high or low), MOST_NODE) + 1))
    return tuple(sorted(numbers))
