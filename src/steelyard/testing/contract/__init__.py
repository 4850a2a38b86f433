"""What every plug-in of a kind must do, as tests for pytest: ours pass them, and yours should.

Two lines in `tests/test_contract.py` of a package test all plug-ins of its entry points::

    from steelyard.testing.contract import PackageContract

    class TestContract(PackageContract, package="steelyard-kv"): ...

A suite for chosen plug-ins is a class; a name may be a file that lies beside an experiment::

    from steelyard.testing.contract import ServiceContract

    class TestServer(ServiceContract):
        names = ("./my_server.py",)

`pytest -p steelyard.testing.pytest_plugin --record` runs the examples of the workloads and saves what the
tools print in `data/contract/` beside the test; from then on that output must always give the same figures.
Tests whose tools this machine lacks are skipped, and say so.
"""

from __future__ import annotations

import pytest

_TESTS = ("collectors", "environments", "events", "recording", "services", "sites", "suite", "workloads")
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in _TESTS))  # a failure shows the values

from steelyard.testing.contract.collectors import CollectorContract  # noqa: E402
from steelyard.testing.contract.environments import EnvironmentContract  # noqa: E402
from steelyard.testing.contract.events import EventContract  # noqa: E402
from steelyard.testing.contract.package import PackageContract  # noqa: E402
from steelyard.testing.contract.services import ServiceContract  # noqa: E402
from steelyard.testing.contract.sites import SiteContract  # noqa: E402
from steelyard.testing.contract.workloads import WorkloadContract  # noqa: E402

__all__ = [
    "CollectorContract",
    "EnvironmentContract",
    "EventContract",
    "PackageContract",
    "ServiceContract",
    "SiteContract",
    "WorkloadContract",
]
