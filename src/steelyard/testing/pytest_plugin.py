"""For pytest: `-p steelyard.testing.pytest_plugin`, or in a conftest.py

    pytest_plugins = ["steelyard.testing.pytest_plugin"]

adds `--record`, which runs the examples of the workloads, reads this machine by the collectors, and saves
what they gave for the contract tests.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--record`."""
    parser.addoption("--record", action="store_true", help="record what workloads print and collectors read")
