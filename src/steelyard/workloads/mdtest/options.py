"""Options of `use: mdtest`."""

from __future__ import annotations

import re
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import Duration, ScratchOrAbsolute, Size
from steelyard.workloads.kit.site_program import SiteProgramOptions

MdtestTest = Literal["create", "stat", "read", "remove"]
TESTS: tuple[MdtestTest, ...] = ("create", "stat", "read", "remove")
_ARGUMENT = re.compile(r"-[fglpsV]=\d+|-[BcgkRStX]|--[a-z0-9]+[\w.-]*(=[\w.,%/:+-]*)?")


class MdtestOptions(SiteProgramOptions):
    """How many files and directories, in which tree, and what is done with them."""

    DEFAULT: ClassVar[str] = "mdtest"

    api: Literal["POSIX", "MPIIO", "MMAP", "DUMMY"] = Field(
        "POSIX", description="Interface (-a), as mdtest was built with it."
    )
    target: Literal["files", "directories", "both"] = Field(
        "both", description="What is created: files (-F), directories (-D), or both."
    )
    tests: tuple[MdtestTest, ...] = Field(
        TESTS,
        min_length=1,
        description="What is measured, of create, stat, read and remove, in this order; create must be one.",
    )
    items: int | None = Field(
        None,
        ge=1,
        le=10**9,
        description="Files and directories of each rank, over the whole tree (-n). Default: 1000.",
    )
    items_per_directory: int | None = Field(
        None, ge=1, le=10**9, description="The same for each directory of the tree (-I), instead of `items`."
    )
    depth: int = Field(0, ge=0, le=64, description="Depth of the tree of directories (-z).")
    branch: int = Field(1, ge=1, le=1000, description="Directories in each directory of that tree (-b).")
    leaf_only: bool = Field(False, description="Items only in the lowest directories of the tree (-L).")
    unique_directories: bool = Field(False, description="A tree for each rank (-u) instead of one for all.")
    shift: int = Field(
        0,
        ge=0,
        le=10**6,
        description="Each test works on what the rank this number further on created (-N): with 1, mdtest "
        "takes a rank of the next host, whose client cache does not know the items.",
    )
    write_bytes: Size = Field(Size(0), description="Bytes to write to each file after it is created (-w).")
    read_bytes: Size = Field(Size(0), description="Bytes to read from each file (-e), at most `write_bytes`.")
    fsync: bool = Field(False, description="Sync each file after writing (-y).")
    sync: bool = Field(False, description="Call sync after each test, within the measured time (-Y).")
    repetitions: int = Field(
        1, ge=1, le=10_000, description="Repetitions within one trial (-i); `repeat` repeats the whole trial."
    )
    stonewall: Duration | None = Field(
        None,
        description="Stop creating after this time, in whole seconds (-W), whatever was created by then.",
    )
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where items are created: scratch, an absolute path, or a service that is a file system. "
        "Ranks on several hosts need a directory that all of them share.",
    )
    arguments: tuple[str, ...] = Field(
        (), description="Further arguments that have no option here, such as [-R, --random-seed=3]."
    )

    @field_validator("arguments")
    @classmethod
    def _check_arguments(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if not _ARGUMENT.fullmatch(word):
                hint = "give -x, -x=NUMBER or --name=VALUE"
                raise ValueError(f"'{word}' cannot be passed on, or has an option of its own; {hint}")
        return value

    @model_validator(mode="after")
    def _check_tests(self) -> Self:
        if "create" not in self.tests:
            raise ValueError("tests: add create; nothing else can be done with items that are not there")
        if self.target == "directories" and "read" in self.tests and self.tests != TESTS:
            raise ValueError("tests: directories cannot be read")
        if self.read_bytes > self.write_bytes:
            raise ValueError(f"read_bytes: {self.read_bytes} is more than write_bytes, {self.write_bytes}")
        if self.stonewall is not None and not (self.stonewall >= 1 and float(self.stonewall).is_integer()):
            raise ValueError(f"stonewall: {self.stonewall} is not a whole number of seconds from 1s")
        return self

    @model_validator(mode="after")
    def _check_tree(self) -> Self:
        if self.items is not None and self.items_per_directory is not None:
            raise ValueError("items: remove it, or items_per_directory; one follows from the other")
        least = self.branch**self.depth if self.leaf_only else self.count_directories()
        if self.items_per_directory is None and self.wanted_items < least:
            raise ValueError(
                f"items: {self.wanted_items} are fewer than the {least} directories of the tree; "
                "raise items, or lower depth or branch"
            )
        return self

    @property
    def wanted_items(self) -> int:
        """What `items` is, where no number is given for each directory."""
        return self.items if self.items is not None else 1000

    def count_directories(self) -> int:
        """Directories of the tree, its root among them."""
        return int(sum(self.branch**level for level in range(self.depth + 1)))
