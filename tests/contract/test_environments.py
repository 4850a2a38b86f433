"""What every environment must do, run over every environment there is."""

from __future__ import annotations

from steelyard.plugins import builtin_names
from steelyard.testing.contract import EnvironmentContract


class TestEnvironments(EnvironmentContract):
    """Ours."""

    names = builtin_names("environments")
