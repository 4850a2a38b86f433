"""Options of `macsio`, named as MACSio's own where both programs have them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import Duration, ScratchOrAbsolute, Size
from steelyard.plugin.workload import WorkloadOptions

BUILTIN = "builtin"
_OWN_INTERFACES = ("posix", "hdf5")


class MacsioOptions(WorkloadOptions):
    """What each rank dumps, how often, and into which files."""

    program: str = Field(
        BUILTIN,
        description="`builtin`, Steelyard's own proxy; or your site's MACSio: `macsio` on PATH, or its "
        "absolute path.",
    )
    interface: str = Field(
        "posix",
        pattern=r"[a-z][a-z0-9]*",
        description="I/O interface: posix or hdf5; with your own MACSio, any that it lists with `--interface "
        "list`, such as miftmpl, hdf5 or silo.",
    )
    parallel_file_mode: Literal["MIF", "SIF"] = Field(
        "MIF",
        description="MIF: ranks that share a file write one after the other, each its own objects. SIF: they "
        "write parts of common objects at the same time.",
    )
    files: int = Field(1, ge=1, le=1_000_000, description="Files of each dump; ranks share them evenly.")
    part_size: Size = Field(
        Size(80_000),
        ge=8,
        le=2**40,
        description="Bytes of a variable of a mesh part: the usual request size.",
    )
    avg_num_parts: float = Field(
        1.0, gt=0, le=10_000, description="Mean number of mesh parts per rank; 2.5: half of the ranks have 3."
    )
    part_type: Literal["uniform", "rectilinear", "curvilinear", "unstructured"] = Field(
        "rectilinear", description="Kind of mesh, which decides how many coordinates are written."
    )
    vars_per_part: int = Field(20, ge=1, le=10_000, description="Variables of each part.")
    num_dumps: int = Field(10, ge=1, le=10_000, description="Dumps, one after the other; all files are kept.")
    dataset_growth: float = Field(
        1.0, ge=1, le=100, description="Factor by which the data grow from each dump to the next."
    )
    compute_time: Duration = Field(
        Duration(0), ge=0, le=86_400, description="Time of computation before each dump; not in the rates."
    )
    compute_work_intensity: Literal[1, 2, 3] = Field(
        1, description="Computation: 1 sleeps, 2 keeps the core busy, 3 solves an equation (MACSio only)."
    )
    access: Literal["independent", "collective"] = Field(
        "independent", description="How ranks write in SIF with hdf5; builtin only."
    )
    sync: bool = Field(True, description="Flush each file to storage before it is closed; builtin only.")
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where dumps are: `scratch`, an absolute path, or a service that is a file system. "
        "Ranks on several hosts need one that they share.",
    )

    @field_validator("program")
    @classmethod
    def _check_program(cls, value: str) -> str:
        if value not in (BUILTIN, "macsio") and not PurePosixPath(value).is_absolute():
            raise ValueError(f"'{value}' is neither builtin, nor macsio, nor the absolute path of MACSio")
        if "\0" in value:
            raise ValueError("a path cannot contain a null character")
        return value

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        limits = self._find_builtin_limits() if self.is_builtin else self._find_site_limits()
        if problems := "; ".join(limits):
            raise ValueError(problems)
        return self

    @property
    def is_builtin(self) -> bool:
        """Whether our own program dumps."""
        return self.program == BUILTIN

    def _find_builtin_limits(self) -> Iterator[str]:
        if self.interface not in _OWN_INTERFACES:
            yield f"interface: builtin has posix and hdf5, not '{self.interface}'; set `program: macsio`"
        if self.compute_work_intensity == 3:
            yield "compute_work_intensity: builtin has 1 and 2; set `program: macsio` for 3"
        if self.access == "collective" and (self.interface, self.parallel_file_mode) != ("hdf5", "SIF"):
            yield "access: only hdf5 in SIF writes collectively; set both, or `access: independent`"

    def _find_site_limits(self) -> Iterator[str]:
        if self.interface == "posix":
            yield "interface: MACSio has no posix; choose one that it lists, such as miftmpl or hdf5"
        for name in sorted({"access", "sync"} & self.model_fields_set):
            yield f"{name}: MACSio has no such option; remove it, or set `program: builtin`"
