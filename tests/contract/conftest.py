from __future__ import annotations

import dataclasses
import os

import pytest

from steelyard.model.metric import Reading
from steelyard.spec.bind import workload_class
from steelyard.testing.pytest_plugin import pytest_addoption

__all__ = ["pytest_addoption"]


@pytest.fixture(autouse=True, scope="session")
def mutation():
    """Break a plug-in on purpose, when test_mutations.py asks for it: the suite must notice."""
    name, _, what = os.environ.get("STEELYARD_TEST_MUTATION", "").partition(":")
    with pytest.MonkeyPatch.context() as patch:
        if what == "parse":
            patch.setattr(workload_class(name), "parse", lambda self, phase, output: Reading())
        elif what == "unit":
            patch.setattr(workload_class(name), "metrics", swapped(workload_class(name).metrics))
        yield


def swapped(metrics):
    """The declaration with the first metric in another unit."""

    def wrong(self):
        first, *rest = metrics(self)
        return (dataclasses.replace(first, unit="s" if first.unit != "s" else "B/s"), *rest)

    return wrong


@pytest.fixture(autouse=True)
def played(stand_ins):
    """Every plug-in keeps the contract, also one whose program no registry has."""
