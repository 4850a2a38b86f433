"""Conditions that one process can be put under: `wrap: {cpus: 0-3, memory_node: 0, nice: 5, in: podman}`.

Each is a program before the command (taskset, numactl, nice, what makes an environment), and each may be a
level; null leaves it out. What the kernel then says of the process is kept, and compared with what was asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pydantic import Field, PrivateAttr, StrictInt, model_serializer

from steelyard.errors import UsageError
from steelyard.model.command import Command
from steelyard.model.control_groups import Limits
from steelyard.model.environment import Inside, Surrounding
from steelyard.model.expression import substitute
from steelyard.model.kernel_report import format_numbers, parse_list, tell
from steelyard.model.keys.image import ImageRecipe
from steelyard.model.part import Part
from steelyard.model.tool import Tool

_IMAGE = re.compile(r"[A-Za-z0-9./][A-Za-z0-9._/:@+-]{0,254}")
_NICENESS = range(-20, 20)
_TASKSET = Tool("taskset", apt="util-linux", dnf="util-linux")
_NUMACTL = Tool("numactl", apt="numactl", dnf="numactl", version=("--show",))
_NICE = Tool("nice", apt="coreutils", dnf="coreutils")
_CHRT = Tool("chrt", apt="util-linux", dnf="util-linux")
_PRIORITIES = {"other": "0", "batch": "0", "idle": "0", "fifo": "1", "rr": "1"}
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
        description="The image to run it in: one of `images`, an unpacked directory, a .sif or .sqfs file, "
        "or the name of one that podman or apptainer has",
    )

    _recipes: Mapping[str, ImageRecipe] = PrivateAttr(default_factory=dict)

    def know_images(self, recipes: Mapping[str, ImageRecipe]) -> None:
        """Take note of the images that the file describes, by their names."""
        self._recipes = recipes

    @model_serializer
    def list_said(self) -> dict[str, Any]:
        """What the file says, by its keys; null, too, since that leaves out what a role says."""
        fields = type(self).model_fields
        said = (name for name in fields if name in self.model_fields_set)
        return {fields[name].alias or name: getattr(self, name) for name in said}

    def over(self, other: Wrap) -> Wrap:
        """The same, with what only another one says."""
        both = Wrap.model_validate({**other.list_said(), **self.list_said()})
        both.know_images(self._recipes)
        return both

    def settings(self) -> dict[str, Any]:
        """All that may hold `${…}`."""
        return {key: value for key, value in self.list_said().items() if value is not None}


@dataclass(frozen=True, slots=True)
class Conditions:
    """Those of a cell. `cpus` and `memory_nodes` are numbers in order.

    `inside` is what was asked to surround it, or None for the host itself; `environments` are those by name
    that may do it, the first choice first. `recipe` is what the file says of its image, if it does.
    `capture` is how its storage calls are recorded, and empty where they are not.
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
    recipe: ImageRecipe | None = None
    capture: str = ""

    @classmethod
    def of(cls, wrap: Wrap | None, levels: Mapping[str, Any]) -> Conditions:
        """Put a cell's levels in; its environments are yet to be found. Raises ExpressionError, UsageError
        that names the key.
        """
        settings = substitute(wrap.settings(), levels) if wrap else {}
        image = _parse_image(settings.get("image"))
        inside = find_inside(settings)
        return cls(
            cpus=_parse_numbers("cpus", settings.get("cpus")),
            memory_nodes=_parse_numbers("memory_node", settings.get("memory_node")),
            nice=_parse_nice(settings.get("nice")),
            inside=inside,
            image=image if inside else None,
            cores=_parse_cores(settings),
            policy=_parse_policy(settings.get("cpu_policy")),
            limits=Limits.parse(settings),
            recipe=wrap._recipes.get(image or "") if wrap and inside else None,
        )

    @property
    def any(self) -> bool:
        """Whether there is one at all; that its calls are recorded is none."""
        return replace(self, capture="") != Conditions()

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
                inner, told = (tell(command, told, limits=True) if told else command), ""
            inner = chosen.enter(inner, Inside(self.image, mounts, at, self.limits))
        if self.limits.any and not (chosen and chosen.limits_itself):
            inner = self.limits.enter(inner, told)
        inner = tell(inner, told) if told else inner
        policy = ("chrt", f"--{self.policy}", _PRIORITIES[self.policy]) if self.policy else ()
        cpus = ("taskset", "-c", self._name_cpus()) if self.cpus or self.cores else ()
        memory = (
            ("numactl", f"--membind={format_numbers(self.memory_nodes)}", "--") if self.memory_nodes else ()
        )
        nice = ("nice", "-n", str(self.nice)) if self.nice is not None else ()
        return inner.wrap(*nice, *policy, *cpus, *memory)

    def describe_command(self, command: Command) -> Command:
        """The command with what is around it in words, where the words of a shell would tell nobody."""
        asked = [f"{key}={value}" for key, value in self.limits.describe().items() if value is not None]
        image = [f"image={self.image}"] if self.image else []
        around = ["in", self.inside or HOST, *image, *asked] if self.inside or asked else []
        bare = replace(self, inside=None, image=None, environments=(), limits=Limits())
        return bare.wrap_command(command.wrap(*around))

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


def find_inside(settings: Mapping[str, Any]) -> str | None:
    """What is to surround a process, by what its `wrap` says; None for nothing. Raises UsageError."""
    inside = settings.get("in") or ("container" if settings.get("image") else HOST)
    if not isinstance(inside, str):
        raise UsageError(f"in: {inside!r} is not the name of an environment, such as bubblewrap")
    return None if inside == HOST else inside


def _parse_numbers(key: str, value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    text = str(value).replace(" ", "")
    if isinstance(value, bool) or not (numbers := parse_list(text)):
        raise UsageError(f"{key}: {value!r} is not a list of numbers such as 0-3 or 0,2")
    return numbers


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
    if isinstance(value, str) and value.startswith("."):
        raise UsageError(f"image: {value}: give its absolute path")
    if not isinstance(value, str) or not _IMAGE.fullmatch(value):
        raise UsageError(f"image: {value!r} is not an image such as alpine:3, /images/debian or tool.sif")
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
