"""The programs, each of which is built on its host from the folder `sources` beside this file."""

from __future__ import annotations

from pathlib import Path

from steelyard.plugin import Tool

_SOURCES = str(Path(__file__).with_name("sources"))
NETCDF = Tool("steelyard-netcdf", compiled=_SOURCES)
HDF5 = Tool("steelyard-hdf5", compiled=_SOURCES)
DUMP = Tool("steelyard-dump", compiled=_SOURCES)
