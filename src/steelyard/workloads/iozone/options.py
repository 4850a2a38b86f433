"""Options of `use: iozone`, and the tests that they choose from."""

from __future__ import annotations

import re
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import ScratchOrAbsolute, Size
from steelyard.workloads.kit.site_program import SiteProgramOptions

_KIB = 2**10
_ARGUMENT = re.compile(r"-[BDGKWZmp]|-[HPSLdjk]\d{1,9}|-\+[DLVlr]")

IozoneTest = Literal[
    "write", "read", "random", "reverse", "rewrite_record", "stride", "fwrite", "fread", "pwrite", "pread"
]


class IozonePattern(NamedTuple):
    """A test: its number (-i), and what names its rates in either mode.

    `columns` are metrics in the order of the table; `sections` are metrics by iozone's name for the processes
    that did it.
    """

    number: int
    columns: tuple[str, ...]
    sections: dict[str, str]


PATTERNS: dict[IozoneTest, IozonePattern] = {
    "write": IozonePattern(0, ("write", "rewrite"), {"write": "initial writers", "rewrite": "rewriters"}),
    "read": IozonePattern(1, ("read", "reread"), {"read": "readers", "reread": "re-readers"}),
    "random": IozonePattern(
        2,
        ("random_read", "random_write"),
        {"random_read": "random readers", "random_write": "random writers"},
    ),
    "reverse": IozonePattern(3, ("reverse_read",), {"reverse_read": "reverse readers"}),
    "rewrite_record": IozonePattern(4, ("record_rewrite",), {}),
    "stride": IozonePattern(5, ("stride_read",), {"stride_read": "stride readers"}),
    "fwrite": IozonePattern(6, ("fwrite", "refwrite"), {"fwrite": "fwriters"}),
    "fread": IozonePattern(7, ("fread", "refread"), {"fread": "freaders"}),
    "pwrite": IozonePattern(9, (), {"pwrite": "pwrite writers"}),
    "pread": IozonePattern(10, (), {"pread": "pread readers"}),
}


class IozoneOptions(SiteProgramOptions):
    """Which tests, with one size of file and of record, in one process or in several."""

    DEFAULT: ClassVar[str] = "iozone"

    tests: tuple[IozoneTest, ...] = Field(
        ("write", "read", "random"),
        min_length=1,
        description="Tests to run (-i), in iozone's order: write and rewrite; read and reread; random read "
        "and write; reverse; rewrite_record (the same record again and again); stride; fwrite and fread "
        "(through stdio); pwrite and pread (with `processes`). write must be one.",
    )
    size: Size = Field(
        Size(64 * _KIB**2),
        description="Size of the file (-s), or of each process's file. Compare several by a parameter.",
    )
    record: Size = Field(Size(64 * _KIB), description="Bytes of one request (-r), from 1KiB to 16MiB.")
    processes: int | None = Field(
        None,
        ge=1,
        le=256,
        description="Processes that work at once, each on its own file (-t): throughput mode. Default: auto "
        "mode (-a), one process and one file.",
    )
    threads: bool = Field(False, description="Threads of one process (-T) instead of `processes`.")
    finish_all: bool = Field(
        False,
        description="Every process finishes its file (-x). By default, iozone stops all of them when the "
        "first one has finished.",
    )
    direct: bool = Field(False, description="Bypass the page cache with O_DIRECT (-I).")
    fsync: bool = Field(False, description="Include fsync in the time of writing (-e).")
    close: bool = Field(False, description="Include close in the time (-c).")
    sync: bool = Field(False, description="Open files with O_SYNC (-o).")
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where files are written: scratch, an absolute path, or a service that is a file system.",
    )
    arguments: tuple[str, ...] = Field(
        (), description="Further arguments that have no option here, such as [-B, -j17, -+r]."
    )

    @field_validator("arguments")
    @classmethod
    def _check_arguments(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if not _ARGUMENT.fullmatch(word):
                hint = "give -x, -xNUMBER or -+x"
                raise ValueError(f"'{word}' cannot be passed on, or has an option of its own; {hint}")
        return value

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if not _KIB <= self.record <= 16 * _KIB**2 or self.record % _KIB:
            raise ValueError(f"record: {self.record} is not a multiple of 1KiB from 1KiB to 16MiB")
        if not self.size or self.size % self.record:
            raise ValueError(f"size: {self.size} is not a multiple of record, {self.record}, above 0")
        return self

    @model_validator(mode="after")
    def _check_tests(self) -> Self:
        if "write" not in self.tests:
            raise ValueError("tests: add write; the other tests use the file that it writes")
        alone = [test for test in self.tests if not PATTERNS[test].columns]
        if alone and self.processes is None:
            raise ValueError(
                f"tests: iozone has {' and '.join(alone)} in throughput mode only; set processes"
            )
        if "rewrite_record" in self.tests and self.processes is not None:
            raise ValueError("tests: iozone has rewrite_record in auto mode only; remove it, or `processes`")
        if self.direct and {"fwrite", "fread"} & set(self.tests):
            raise ValueError(
                "direct: fwrite and fread use the page cache all the same; remove them, or `direct`"
            )
        return self

    @model_validator(mode="after")
    def _check_processes(self) -> Self:
        for name in ("threads", "finish_all"):
            if getattr(self, name) and self.processes is None:
                raise ValueError(f"{name}: set `processes` too, as there is one process without it")
        return self

    def list_patterns(self) -> list[IozonePattern]:
        """The chosen tests, each once, in the order in which iozone runs and prints them."""
        return [pattern for test, pattern in PATTERNS.items() if test in self.tests]
