"""All suites for the plug-ins that a package declares in its entry points."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from steelyard.testing.contract.collectors import CollectorContract
from steelyard.testing.contract.environments import EnvironmentContract
from steelyard.testing.contract.events import EventContract
from steelyard.testing.contract.services import ServiceContract
from steelyard.testing.contract.sites import SiteContract
from steelyard.testing.contract.suite import Contract
from steelyard.testing.contract.workloads import WorkloadContract

SUITES: tuple[type[Contract], ...] = (
    WorkloadContract,
    ServiceContract,
    EventContract,
    CollectorContract,
    SiteContract,
    EnvironmentContract,
)


class PackageContract:
    """A class of tests for an installed package: `class TestContract(PackageContract, package="NAME")`.

    It holds a suite for each kind of plug-in that the package has. Further keywords are attributes of the
    suites, such as `leases={"lab": {}}` of the sites. Events act on the package's first service. Raises
    PackageNotFoundError.
    """

    def __init_subclass__(cls, package: str, **settings: Any) -> None:
        names = _list_names(package)
        settings = {"service": next(iter(names.get("services", ())), ""), **settings}
        for suite in SUITES:
            if suite.kind in names:
                own = {key: value for key, value in settings.items() if hasattr(suite, key)}
                # Recordings lie beside the file of tests.
                content = {"names": names[suite.kind], "__module__": cls.__module__, **own}
                setattr(cls, f"Test{suite.kind.title()}", type(suite.__name__, (suite,), content))


def _list_names(package: str) -> dict[str, tuple[str, ...]]:
    """The names of a package's plug-ins, by kind."""
    names: dict[str, tuple[str, ...]] = {}
    for entry in metadata.distribution(package).entry_points:
        group, _, kind = entry.group.partition(".")
        if group == "steelyard":
            names[kind] = (*names.get(kind, ()), entry.name)
    return names
