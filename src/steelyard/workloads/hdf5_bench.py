"""`use: hdf5_bench`: write and read 4-D data through parallel HDF5."""

from __future__ import annotations

from steelyard.workloads.kit.mpi.slab_options import SlabOptions
from steelyard.workloads.kit.mpi.slab_workload import SlabWorkload
from steelyard.workloads.kit.mpi.tools import HDF5


class Hdf5Bench(SlabWorkload[SlabOptions]):
    """4-D data t:x:y:z in one HDF5 file, written and read by all ranks: `netcdf_bench` without netCDF.

    **Measures** what `netcdf_bench` does, with the same options: times to open, transfer and close and their
    rates, the smallest, mean and largest over the ranks, for writing and for reading.

    **Source**: NetCDF-Bench, as described in BigStorage D1.2 (2017); netCDF-4 files are HDF5 files, so the
    difference between the two is what netCDF costs. The program is Steelyard's own, in C, and is compiled
    against the host's MPI and HDF5.

    **How to read it.** As `netcdf_bench`. HDF5 has no chunks of its own choice: `chunk: auto` is the block.
    With `unlimited`, ranks may also write independently: they extend the dataset together at each step, which
    is part of the time in transfers. HDF5 compresses in parallel from version 1.10.2 on.
    """

    Options = SlabOptions
    needs = (HDF5,)
    covers = ("CLM1", "CLM2", "CLM6", "CLM7")
    examples = (
        {"geometry": "4:8:6:5", "ranks_along_y": 2, "block": "2:4:3:5"},
        {
            "geometry": "4:8:6:5",
            "type": "float",
            "chunk": "auto",
            "access": "collective",
            "deflate": 2,
            "shuffle": True,
            "fill": True,
            "verify": True,
        },
        {"geometry": "2:4:4:4", "type": "int", "operation": "write", "chunk": "1:2:4:4", "unlimited": True},
    )
