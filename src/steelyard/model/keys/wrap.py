"""Conditions that one process can be put under: `wrap: {cpus: 0-3, memory_node: 0, nice: 5, in: podman}`.

Each is a program before the command (taskset, numactl, nice, what makes an environment), and each may be a
level; null leaves it out. What the kernel then says of the process is kept, and compared with what was asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pydantic import Field, StrictInt

from steelyard.errors import UsageError
from steelyard.model.command import Command
from steelyard.model.control_groups import REPORT, Limits, read_limits
from steelyard.model.environment import Inside, Surrounding
from steelyard.model.expression import substitute
from steelyard.model.metric import Mark
from steelyard.model.part import Part
from steelyard.model.tool import Tool

TOLD = ".steelyard-kernel"
"""The file in the scratch of a process that holds what the kernel said of it."""

MOST_NODE = 1 << 16
# Written by the process itself before it becomes the program, so that no program is too short to be seen.
_TELL = (
    '{ cat "/proc/$$/status" "/proc/$$/stat"; head -n 1 "/proc/$$/numa_maps"; } > "$0" 2>/dev/null || :; '
    'exec "$@"'
)
_TELL_WITHIN = _TELL.replace("; }", "; report; }")
_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
_IMAGE = re.compile(r"[A-Za-z0-9./][A-Za-z0-9._/:@+-]{0,254}")
_NICENESS = range(-20, 20)
_TASKSET = Tool("taskset", apt="util-linux", dnf="util-linux")
_NUMACTL = Tool("numactl", apt="numactl", dnf="numactl", version=("--show",))
_NICE = Tool("nice", apt="coreutils", dnf="coreutils")
_CHRT = Tool("chrt", apt="util-linux", dnf="util-linux")
_PRIORITIES = {"other": "0", "batch": "0", "idle": "0", "fifo": "1", "rr": "1"}
_POLICIES = {"0": "other", "1": "fifo", "2": "rr", "3": "batch", "5": "idle"}  # sched(7), as /proc has them
TOOLS = (_TASKSET, _NUMACTL, _NICE, _CHRT)
"""All that may put a process under conditions, but for environments."""

HOST = "host"
"""What surrounds a program that nothing surrounds."""


class Wrap(Part):
    """What a process is put under. Each key may be a level, and null."""

    cpus: StrictInt | str | None = Field(
        None, description="CPUs that it may use, such as 0-3 or 0,2 (taskset)"
    )
    memory_node: StrictInt | str | None = Field(
        None, description="NUMA nodes to allocate its memory from, such as 0 (numactl --membind)"
    )
    cores: StrictInt | str | None = Field(
        None, description="How many CPUs it may use, the first of those that its host allows (taskset)"
    )
    nice: StrictInt | str | None = Field(
        None, description="Scheduling niceness, from -20 to 19; below 0 needs root (nice)"
    )
    cpu_policy: str | None = Field(
        None, description="How it is scheduled: other, batch, idle, or fifo or rr, which need root (chrt)"
    )
    cpu_quota: str | None = Field(
        None, description="CPU time in all: 50% is half of one CPU, 150% one and a half (control group)"
    )
    memory: str | None = Field(
        None, description="Memory in all, such as 256MiB; with more it is killed (control group)"
    )
    io_read: str | None = Field(
        None, description="Reading from the disk that it runs on, such as 10MiB/s (control group)"
    )
    io_write: str | None = Field(
        None, description="Writing to that disk; where control groups are of version 2 (control group)"
    )
    inside: str | None = Field(
        None,
        alias="in",
        description="What surrounds it: `host` (nothing), `container` (the first kind that works there), or "
        "one by name, such as bubblewrap; default: container with `image`, else host",
    )
    image: str | None = Field(
        None,
        description="The image to run it in: an unpacked directory, a .sif or .sqfs file, or the name of one "
        "that podman or apptainer has",
    )

    def settings(self) -> dict[str, Any]:
        """All that may hold `${…}`."""
        return self.model_dump(exclude_none=True, by_alias=True)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Those of a cell. `cpus` and `memory_nodes` are numbers in order.

    `inside` is what was asked to surround it, or None for the host itself; `environments` are those by name
    that may do it, the first choice first.
    """

    cpus: tuple[int, ...] | None = None
    memory_nodes: tuple[int, ...] | None = None
    nice: int | None = None
    inside: str | None = None
    image: str | None = None
    environments: tuple[Surrounding, ...] = ()
    cores: int | None = None
    policy: str | None = None
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, wrap: Wrap | None, levels: Mapping[str, Any]) -> Conditions:
        """Put a cell's levels in; its environments are yet to be found. Raises ExpressionError, UsageError
        that names the key.
        """
        settings = substitute(wrap.settings(), levels) if wrap else {}
        image = _parse_image(settings.get("image"))
        inside = _parse_inside(settings.get("in")) or ("container" if image else HOST)
        return cls(
            cpus=_parse_numbers("cpus", settings.get("cpus")),
            memory_nodes=_parse_numbers("memory_node", settings.get("memory_node")),
            nice=_parse_nice(settings.get("nice")),
            inside=None if inside == HOST else inside,
            image=None if inside == HOST else image,
            cores=_parse_cores(settings),
            policy=_parse_policy(settings.get("cpu_policy")),
            limits=Limits.parse(settings),
        )

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return self != Conditions()

    def required_tools(self) -> tuple[Tool, ...]:
        """The programs that put a process under them, but for an environment's."""
        tools = (
            (self.cpus, _TASKSET),
            (self.memory_nodes, _NUMACTL),
            (self.nice, _NICE),
            (self.cores, _TASKSET),
            (self.policy, _CHRT),
        )
        return tuple(tool for asked, tool in tools if asked is not None)

    def wrap_command(
        self,
        command: Command,
        *,
        environment: Surrounding | None = None,
        mounts: tuple[str, ...] = (),
        told: str = "",
    ) -> Command:
        """The command under these conditions; `told` is the file for what the kernel says of it.

        In an environment, by default the first choice, it sees the `mounts` at their own paths, and the first
        of them is where it runs.
        """
        inner, chosen = command, environment or next(iter(self.environments), None)
        if chosen:
            at = str(command.cwd or (mounts[0] if mounts else "/"))
            if chosen.limits_itself:
                inner, told = (_tell_within(command, told) if told else command), ""
            inner = chosen.enter(inner, Inside(self.image, mounts, at, self.limits))
        if self.limits.any and not (chosen and chosen.limits_itself):
            inner = self.limits.enter(inner, told)
        tell = ("sh", "-c", _TELL, told) if told else ()
        policy = ("chrt", f"--{self.policy}", _PRIORITIES[self.policy]) if self.policy else ()
        cpus = ("taskset", "-c", self._name_cpus()) if self.cpus or self.cores else ()
        memory = (
            ("numactl", f"--membind={format_numbers(self.memory_nodes)}", "--") if self.memory_nodes else ()
        )
        nice = ("nice", "-n", str(self.nice)) if self.nice is not None else ()
        return inner.wrap(*nice, *policy, *cpus, *memory, *tell)

    def _name_cpus(self) -> str:
        """Those that it may use; as words where only its host knows them."""
        return format_numbers(self.cpus) if self.cpus else f"<{self.cores} of its host>"

    def choose_cpus(self, allowed: tuple[int, ...]) -> Self:
        """The same with the CPUs that `cores` stands for on a host. Raises UsageError where it has fewer."""
        if self.cores is None:
            return self
        if self.cores > len(allowed):
            raise UsageError(f"cores: {self.cores} are asked for, and there are {len(allowed)}")
        return replace(self, cpus=allowed[: self.cores])


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
            _parse_list(allowed.get("Cpus")),
            _parse_list(nodes),
            int(stat[1]) if stat else None,
            _POLICIES.get(stat[2]) if stat else None,
            read_limits(text),
        )


@dataclass(frozen=True, slots=True)
class ConditionCheck:
    """What was asked for a process, and what it got."""

    who: str
    asked: Conditions
    got: KernelReport

    def record(self) -> dict[str, Any]:
        """For the record: each that was asked, with what the kernel says."""
        asked, got = _describe(self.asked), _describe(self.got)
        conditions = {
            key: {"asked": format_numbers(value), "got": format_numbers(got[key])}
            for key, value in asked.items()
            if value is not None
        }
        around = {"in": self.asked.inside, "image": self.asked.image}
        return conditions | {key: {"asked": value} for key, value in around.items() if value}

    def marks(self) -> list[Mark]:
        """One for each that it did not get."""
        return [
            Mark(
                "fallback",
                f"{self.who}: {key} {one['asked']} was requested, but the kernel reports {one['got']}",
            )
            for key, one in self.record().items()
            if one["asked"] != one.get("got", one["asked"])
        ]


def _describe(which: Conditions | KernelReport) -> dict[str, Any]:
    """What was asked, or got, by the keys of the file."""
    return {
        "cpus": which.cpus,
        "cores": which.cores,
        "memory_node": which.memory_nodes,
        "nice": which.nice,
        "cpu_policy": which.policy,
        **which.limits.describe(),
    }


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


def _parse_numbers(key: str, value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    text = str(value).replace(" ", "")
    if isinstance(value, bool) or not _LIST.fullmatch(text) or not (numbers := _parse_list(text)):
        raise UsageError(f"{key}: {value!r} is not a list of numbers such as 0-3 or 0,2")
    return numbers


def _parse_list(text: str | None) -> tuple[int, ...] | None:
    if not text or not _LIST.fullmatch(text):
        return None
    numbers: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        numbers |= set(range(int(low), min(int(high or low), MOST_NODE) + 1))
    return tuple(sorted(numbers))


def _parse_nice(value: object) -> int | None:
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,2}", text) or int(text) not in _NICENESS:
        raise UsageError(f"nice: {value!r} is not a whole number from -20 to 19")
    return int(text)


def _parse_image(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _IMAGE.fullmatch(value):
        raise UsageError(f"image: {value!r} is not an image such as alpine:3, /images/debian or tool.sif")
    return value


def _parse_inside(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise UsageError(f"in: {value!r} is not the name of an environment, such as bubblewrap")
    return value


def _parse_cores(settings: Mapping[str, Any]) -> int | None:
    value = settings.get("cores")
    if value is None:
        return None
    if settings.get("cpus") is not None:
        raise UsageError("cores: give the number of CPUs or, as cpus, which they are")
    if isinstance(value, bool) or not re.fullmatch(r"[1-9]\d{0,3}", str(value)):
        raise UsageError(f"cores: {value!r} is not a number of CPUs")
    return int(str(value))


def _parse_policy(value: object) -> str | None:
    if value is None or value in _PRIORITIES:
        return value if isinstance(value, str) else None
    raise UsageError(f"cpu_policy: {value!r} is none of {', '.join(_PRIORITIES)}")


def _tell_within(command: Command, told: str) -> Command:
    """The command that has the kernel speak of itself first, also of its control group."""
    return command.wrap("sh", "-c", REPORT + _TELL_WITHIN, told)
