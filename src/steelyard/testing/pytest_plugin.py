"""For pytest: `-p steelyard.testing.pytest_plugin`, or in a conftest.py

    pytest_plugins = ["steelyard.testing.pytest_plugin"]

adds `--record`, which runs the examples of the workloads and saves their output for the contract tests.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--record`."""
    parser.addoption(
        "--record", action="store_true", help="run the workloads' examples and record their output"
    )
