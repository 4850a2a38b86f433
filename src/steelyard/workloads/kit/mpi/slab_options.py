"""Options of the benchmarks of 4-D data: what is written, in which pieces, and how ranks work together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from steelyard.plugin import ScratchOrAbsolute
from steelyard.plugin.workload import WorkloadOptions
from steelyard.workloads.kit.mpi.geometry import BlockGeometry, ChunkGeometry, Geometry, parse_lengths

TYPE_SIZES = {"float": 4, "double": 8, "int": 4}


class SlabOptions(WorkloadOptions):
    """4-D data in one file that all ranks share."""

    independent_extension: ClassVar[bool] = True
    """Whether ranks can write independently where time is unlimited."""

    operation: Literal["write", "read", "both"] = Field(
        "both", description="What is measured: `write`, `read` (of a file that is written first), or `both`."
    )
    geometry: Geometry = Field("100:100:100:10", description="Lengths t:x:y:z of the whole data.")
    type: Literal["float", "double", "int"] = Field("double", description="Type of a value.")
    ranks_along_y: int = Field(
        1, ge=1, le=1_000_000, description="Ranks that share y; all ranks divided by these share x."
    )
    block: BlockGeometry = Field(
        "auto",
        description="Lengths t:x:y:z of what a rank transfers in one call; must divide its part. `auto`: "
        "one time step of its part.",
    )
    chunk: ChunkGeometry = Field(
        "contiguous",
        description="Storage in the file: `contiguous`, chunks of t:x:y:z, or `auto`: the library's own "
        "chunks (with HDF5, which has none, the block).",
    )
    access: Literal["independent", "collective"] = Field(
        "independent", description="Whether each rank transfers its blocks by itself, or all ranks together."
    )
    unlimited: bool = Field(False, description="Unlimited time dimension: the file grows with each step.")
    fill: bool = Field(False, description="Have the library fill the file with a value before the data.")
    deflate: int = Field(0, ge=0, le=9, description="Level of compression; 0: none.")
    shuffle: bool = Field(
        False, description="Sort the bytes of each chunk by significance, to compress better."
    )
    data: Literal["ramp", "noise"] = Field(
        "ramp", description="Values: a `ramp`, which compresses well, or `noise`, which does not."
    )
    sync: bool = Field(True, description="Flush the file to storage before it is closed, in the close time.")
    evict: bool = Field(True, description="Before reading, drop the file from the page cache of each host.")
    verify: bool = Field(False, description="Compare what is read with what was written; not in the times.")
    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where the file is: `scratch`, an absolute path, or a service that is a file system. "
        "Ranks on several hosts need one that they share.",
    )

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if problems := "; ".join((*self._find_misfits(), *self._find_contradictions())):
            raise ValueError(problems)
        return self

    def _find_misfits(self) -> Iterator[str]:
        """Lengths that cannot be, however many ranks there are."""
        whole, chunk = parse_lengths(self.geometry), parse_lengths(self.chunk)
        for axis, length in chunk.items():
            if length > whole[axis]:
                yield f"chunk: {axis} = {length} is more than the {whole[axis]} of the geometry"
        for axis, length in parse_lengths(self.block).items():
            if whole[axis] % length:
                yield f"block: {axis} = {length} does not divide the {whole[axis]} of the geometry"
        if whole["y"] % self.ranks_along_y:
            yield f"ranks_along_y: {self.ranks_along_y} does not divide the y = {whole['y']} of the geometry"

    def _find_contradictions(self) -> Iterator[str]:
        """Options of which the library can have only one."""
        if self.chunk == "contiguous":
            wanted = [name for name in ("unlimited", "deflate", "shuffle") if getattr(self, name)]
            for name in wanted:
                yield f"{name}: needs chunks; set `chunk` to auto or to t:x:y:z"
        if self.access == "independent" and (self.deflate or self.shuffle):
            yield "deflate, shuffle: ranks can compress only together; set `access: collective`"
        if self.access == "independent" and self.unlimited and not self.independent_extension:
            yield "unlimited: ranks can extend a file only together; set `access: collective`"
        if self.verify and self.operation == "write":
            yield "verify: nothing is read; set `operation` to read or both"

    def count_bytes(self) -> int:
        """Of the data, as they are in memory."""
        return math.prod(parse_lengths(self.geometry).values()) * TYPE_SIZES[self.type]
