"""What every workload must do, run over every workload there is.

`pytest tests/contract --record -k NAME` runs a workload's examples and records their output.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from loading import loaded
from steelyard.plugins import builtin_names
from steelyard.testing.contract import WorkloadContract

serving = loaded(Path(__file__).with_name("serving.py"))


class TestWorkloads(WorkloadContract):
    """Ours, with servers that were started without Steelyard."""

    names = builtin_names("workloads")
    slow = (pytest.mark.full,)

    @classmethod
    def data(cls):
        return Path(__file__).parents[1] / "data" / "contract"

    serve = staticmethod(serving.serving)
    find_server = staticmethod(serving.place_of_server)
