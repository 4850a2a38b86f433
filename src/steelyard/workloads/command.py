"""Measure any program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.model.command import Command, Output, Phase, Place
from steelyard.model.metric import Metric, Reading
from steelyard.model.paths import ScratchOrAbsolute
from steelyard.model.program import Program
from steelyard.model.unit import base_unit
from steelyard.workloads._figures import FigureSource, find_figure, parse_path
from steelyard.workloads._service_env import add_service_variables
from steelyard.workloads.base import ANY_SERVICE, Options, Workload

_OWN = (
    Metric("wall", "s", "lower", "elapsed time of the program", over_copies="max"),
    Metric("user", "s", "lower", "CPU time in user mode, with its children's"),
    Metric("system", "s", "lower", "CPU time in the kernel, with its children's"),
    Metric("peak_memory", "B", "lower", "largest resident set of any of its processes", over_copies="max"),
)


class FigureOptions(Options):
    """How to find a figure in what the program prints or writes: by `json` or by `regex`."""

    json_path: str | None = Field(None, alias="json", description="A path such as results[0].rate")
    regex: str | None = Field(
        None,
        description="A pattern whose one group is the number, or it and its unit; the last match counts",
    )
    source: str = Field(
        "stdout",
        alias="from",
        description="stdout, stderr, or a file that it writes to $RAW or its working directory",
    )
    unit: str = Field(
        "1",
        description="What a bare number is in: s, ms, B, MiB/s, 1/s, %, 1, or any word such as GFLOP/s. "
        "A unit in the output (`43.99ms`) is converted",
    )
    better: Literal["higher", "lower", "none"] = "none"

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.json_path is None) == (self.regex is None):
            raise ValueError("a metric is found by 'json' or by 'regex'; give one of them")
        return self

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        try:
            groups = re.compile(value or "()").groups
        except re.error as error:
            raise ValueError(f"'{value}' is not a regular expression: {error}") from None
        if groups != 1:
            raise ValueError(f"'{value}' needs exactly one group ( ) around the number")
        return value

    @field_validator("json_path")
    @classmethod
    def _walks(cls, value: str | None) -> str | None:
        if value is not None:
            list(parse_path(value))
        return value

    @field_validator("source")
    @classmethod
    def _inside(cls, value: str) -> str:
        if "/" in value or value in ("", ".", ".."):
            raise ValueError(f"'{value}' is not stdout, stderr or the name of a file in $RAW")
        return value

    @field_validator("unit")
    @classmethod
    def _known(cls, value: str) -> str:
        base_unit(value)
        return value


class CommandOptions(Program, Options):
    """A program, and what its figures are."""

    stdin: str | None = Field(None, description="Text to feed")
    directory: ScratchOrAbsolute = Field("scratch", description="Where it runs: scratch, or an absolute path")
    metrics: dict[str, FigureOptions] = Field(
        default_factory=dict, description="Figures to find in its output"
    )

    @field_validator("metrics")
    @classmethod
    def _names(cls, value: dict[str, FigureOptions]) -> dict[str, FigureOptions]:
        for name in value:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                raise ValueError(f"metric '{name}' must be lower case letters, digits or '_'")
            if name in {metric.name for metric in _OWN}:
                raise ValueError(f"metric '{name}' is measured anyway; choose another name")
        return value


class CommandWorkload(Workload[CommandOptions]):
    """Any program: its elapsed time, CPU time and peak memory, and figures found in its output.

    The program runs in its scratch directory. Files that it writes to the directory named by the environment
    variable RAW are kept with the record, and figures can be read from them; a file that `from` names may as
    well be written to the working directory. `peak_memory` is that of its largest process, as the kernel
    accounts it (getrusage(2), ru_maxrss). Where that may be the memory of what started the program, such as a
    shell that waited for a common start, it is shown as `≤ 3.9 MiB`.

    It finds every service and role by its environment (STEELYARD_KV_ADDRESS, _PORT and _ENDPOINT for a
    service `kv`) and by `${kv.port}` and `${kv.address}` in `run`, `script`, `env` and `stdin`. A program or
    script in `run` that lies beside the experiment file is found there; `${experiment.dir}` is that folder.

    With `to:` it finds that service by its environment, too: STEELYARD_SERVICE_ADDRESS, _PORT, _USER and
    _PASSWORD, what the service tells in capitals (CONTACT_NAMES and NODE_PORT of a ring of Cassandra), and
    CQLSHRC where it speaks CQL. STEELYARD_CORES is how many cores are its own beside the service, SCRATCH its
    scratch.
    """

    options = CommandOptions
    talks_to = frozenset({ANY_SERVICE})
    verbatim: ClassVar[frozenset[str]] = frozenset({"script"})
    words: ClassVar[frozenset[str]] = frozenset({"run"})
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"run": ["sleep", "0.01"]},
        {
            "script": "echo rate: 12.5 MiB",
            "metrics": {"rate": {"regex": r"rate: ([\d.]+) MiB$", "unit": "MiB/s"}},
        },
        {"run": ["echo", '{"a": [1, 2]}'], "metrics": {"second": {"json": "a[1]", "better": "higher"}}},
    )

    def metrics(self) -> tuple[Metric, ...]:
        """Our own four, then those of the file."""
        entries = self.chosen.metrics.items()
        return (*_OWN, *(Metric(name, base_unit(entry.unit).unit, entry.better) for name, entry in entries))

    def command(self, place: Place) -> Command:
        """The program, with RAW and (for a script) the parameters in its environment."""
        command = self.chosen.command(self.levels, {"RAW": str(place.raw)})
        return add_service_variables(replace(command, stdin=self.chosen.stdin), place)

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """The one command, and the files that figures are read from."""
        files = {entry.source for entry in self.chosen.metrics.values()} - {"stdout", "stderr"}
        return (Phase("run", self.command(place), results=tuple(sorted(files))),)

    def parse(self, phase: str, output: Output) -> Reading:
        """Times and memory from the kernel, the rest from the output."""
        ended = output.exit
        own = {"wall": ended.wall, "user": ended.user, "system": ended.system}
        values = {**own} if ended.peak_memory is None else {**own, "peak_memory": float(ended.peak_memory)}
        for name, entry in self.chosen.metrics.items():
            source = FigureSource(name, entry.source, entry.json_path, entry.regex, entry.unit)
            values[name] = find_figure(source, output)
        return Reading(values, bounds=frozenset({"peak_memory"} if ended.peak_is_bound else ()))

    def directory(self) -> str:
        """The option of that name."""
        return self.chosen.directory
