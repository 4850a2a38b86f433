"""`use: netcdf_bench`: write and read climate data through parallel netCDF-4."""

from __future__ import annotations

from typing import ClassVar

from steelyard.workloads.kit.mpi.slab_options import SlabOptions
from steelyard.workloads.kit.mpi.slab_workload import SlabWorkload
from steelyard.workloads.kit.mpi.tools import NETCDF


class NetcdfBenchOptions(SlabOptions):
    """4-D data in one netCDF-4 file that all ranks share."""

    independent_extension: ClassVar[bool] = False


class NetcdfBench(SlabWorkload[NetcdfBenchOptions]):
    """The I/O of a climate model: 4-D data t:x:y:z in one netCDF-4 file, written and read by all ranks.

    **Measures**, for writing and for reading, the times to open the file, to transfer the data and to close
    the file, and the rates that follow, without and with open and close: the smallest, mean and largest over
    the ranks. `write_rate` and `read_rate` are all bytes over the slowest rank's transfers. Each rank has its
    part of x (and y, `ranks_along_y`) and transfers it in blocks, by default one time step each.

    **Source**: NetCDF-Bench of the German Climate Computing Center, as described in BigStorage D1.2 (2017),
    with its options for geometry, blocks, chunks, independent or collective access, unlimited time, fill
    value and verification; compression, 2-D decomposition and the types float and double are added. The
    program is Steelyard's own, in C, and is compiled against the host's MPI and netCDF.

    **How to read it.** Small files are dominated by opening and closing: compare `write_rate` with
    `write_rate_total`. Chunks that match the blocks are quick to write; chunks that several ranks share need
    `access: collective`. The close time contains the flush to storage (`sync`); without it, a rate may be
    that of the page cache. `evict` drops the file from the page cache of the hosts before it is read, but
    not from that of a file server. Start it with `ranks:`; without, it is one process.
    """

    Options = NetcdfBenchOptions
    needs = (NETCDF,)
    covers = ("CLM1", "CLM2", "CLM6", "CLM7")
    examples = (
        {"geometry": "4:8:6:5"},
        {
            "geometry": "4:8:6:5",
            "type": "float",
            "chunk": "1:4:6:5",
            "access": "collective",
            "unlimited": True,
            "fill": True,
            "deflate": 2,
            "shuffle": True,
            "verify": True,
        },
        {"geometry": "2:4:4:4", "type": "int", "operation": "read", "chunk": "auto", "data": "noise"},
    )
