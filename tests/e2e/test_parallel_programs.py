"""Parallel programs as a user starts them: with ranks, and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from steelyard.testing.contract.workloads import MPIRUN
from steelyard.tools.find import find_missing
from steelyard.workloads.hdf5_bench import Hdf5Bench

if TYPE_CHECKING:
    from conftest import ForkServer, Lab

SLABS = """
experiment: slabs
workload: {{use: hdf5_bench, operation: write, geometry: 2:4:4:4, {ranks}}}
repeat: 2
disturbed: include
"""


@pytest.mark.parametrize("ranks", ["", "ranks: 2"])
def test_an_mpi_program_leaves_nothing_that_would_mark_its_trials(
    ranks: str, lab: Lab, fork_server: ForkServer
) -> None:
    """Open MPI's daemon outlives a program started alone; a trial in which something does is marked."""
    for tool in find_missing([*Hdf5Bench.needs, MPIRUN]):
        pytest.skip(f"{tool.name} is not installed")
    outcome = fork_server.run(lab, "run", lab.file(SLABS.format(ranks=ranks)))
    ended = [line for line in lab.journal() if line["kind"] == "trial-ended"]
    assert [line["status"] for line in ended] == ["ok", "ok"], outcome.said
    assert not [mark for line in ended for mark in line["marks"] if mark["kind"] == "incomplete"]
