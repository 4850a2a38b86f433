"""Options of `use: ior`."""

from __future__ import annotations

import re
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import Duration, ScratchOrAbsolute, Size
from steelyard.workloads.kit.site_program import SiteProgramOptions

_MIB = 2**20
# What has no option of ours: `-J=4k`, `--posix.lustre.stripecount=4`. All else is set by options.
_ARGUMENT = re.compile(r"-[dGJjlMTUX]=[\w.%/:-]+|-[gHImnpPqRSuVWxY]|--[a-z0-9]+\.[\w.-]+(=[\w.,%/:+-]*)?")
_DIRECTIVE = re.compile(r"[A-Za-z][A-Za-z0-9_]*=[\w.%/:+-]+")
_OURS = frozenset(
    """api testfile blocksize transfersize segmentcount fileperproc collective reordertasks fsync keepfile
    reordertasksconstant reordertasksrandom taskpernodeoffset repetitions deadlineforstonewalling showhelp
    stonewallingwearout randomoffset useo_direct writefile readfile numtasks summaryfile summaryformat
    useexistingtestfile""".split()  # noqa: SIM905 - words
)


class IorOptions(SiteProgramOptions):
    """Through which interface, in which pattern, how much."""

    DEFAULT: ClassVar[str] = "ior"

    api: Literal["POSIX", "MPIIO", "HDF5", "NCMPI"] = Field(
        "POSIX", description="Interface: POSIX, MPIIO, HDF5 or NCMPI (PnetCDF), as IOR was built with it."
    )
    operation: Literal["write", "read", "both"] = Field(
        "both", description="write; read, of files that were written before the measurement; or both in turn."
    )
    block: Size = Field(Size(16 * _MIB), description="Bytes that a rank accesses in a row (-b).")
    transfer: Size = Field(Size(_MIB), description="Bytes of one request (-t).")
    segments: int = Field(1, ge=1, le=10**9, description="Number of such blocks of each rank (-s).")
    file_per_process: bool = Field(False, description="A file for each rank (-F) instead of a shared one.")
    collective: bool = Field(False, description="Collective operations (-c), for MPIIO, HDF5 and NCMPI.")
    reorder: Literal["none", "constant", "random"] = Field(
        "none",
        description="Which data a rank reads back: its own, that of the rank `reorder_offset` further on "
        "(-C), or of a random one (-Z). Data of another host is not in the reader's page cache.",
    )
    reorder_offset: int = Field(
        1, ge=1, le=10**6, description="Distance in ranks (-Q): with a host's number of ranks, the next host."
    )
    fsync: bool = Field(
        False, description="Sync each file before it is closed, within the measured time (-e)."
    )
    direct: bool = Field(False, description="Bypass the page cache (--posix.odirect), for POSIX.")
    random: bool = Field(False, description="Random instead of sequential offsets within a file (-z).")
    keep: bool = Field(
        False, description="Do not remove the files within the run of IOR (-k); they go with the trial."
    )
    repetitions: int = Field(
        1, ge=1, le=10_000, description="Repetitions within one trial (-i); `repeat` repeats the whole trial."
    )
    stonewall: Duration | None = Field(
        None,
        description="Stop each phase after this time, in whole seconds (-D), whatever was moved by then.",
    )
    wear_out: bool = Field(
        False, description="After `stonewall`, have every rank move as much as the fastest one did."
    )
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where files are written: scratch, an absolute path, or a service that is a file system. "
        "Ranks on several hosts need a directory that all of them share.",
    )
    directives: tuple[str, ...] = Field(
        (), description="Further directives (-O), such as [lustreStripeCount=4]."
    )
    arguments: tuple[str, ...] = Field(
        (), description="Further arguments that have no option here, such as [-g, -J=4k, --mpiio.showHints]."
    )

    @field_validator("directives")
    @classmethod
    def _check_directives(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if not _DIRECTIVE.fullmatch(word):
                raise ValueError(f"'{word}' is not a directive, such as lustreStripeCount=4")
            if word.partition("=")[0].lower() in _OURS:
                raise ValueError(f"'{word}' is set by an option of this workload; use that option")
        return value

    @field_validator("arguments")
    @classmethod
    def _check_arguments(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if not _ARGUMENT.fullmatch(word) or word.startswith("--posix.odirect"):
                hint = "give -x, -x=VALUE or --api.name=VALUE"
                raise ValueError(f"'{word}' cannot be passed on, or has an option of its own; {hint}")
        return value

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if not self.transfer or not self.block or self.block % self.transfer:
            raise ValueError(
                f"block: {self.block} is not a multiple of transfer, {self.transfer}; both must be above 0"
            )
        if self.stonewall is not None and not (self.stonewall >= 1 and float(self.stonewall).is_integer()):
            raise ValueError(f"stonewall: {self.stonewall} is not a whole number of seconds from 1s")
        if self.wear_out and self.stonewall is None:
            raise ValueError("wear_out: needs `stonewall`")
        return self

    @model_validator(mode="after")
    def _check_pattern(self) -> Self:
        if self.direct and self.api != "POSIX":
            raise ValueError(f"direct: {self.api} has no direct I/O of its own; use api: POSIX")
        if self.collective and self.api == "POSIX":
            raise ValueError("collective: POSIX has no collective operations; use MPIIO, HDF5 or NCMPI")
        if self.random and (self.collective or self.api in ("HDF5", "NCMPI")):
            raise ValueError("random: IOR has random offsets for POSIX and for independent MPIIO only")
        if self.reorder != "none" and self.operation == "write":
            raise ValueError("reorder: concerns reading only; remove it, or set `operation` to read or both")
        return self
