"""`build(parameters=…, require=…)` makes a run folder; `synthetic.Plan` says what it can be told."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from steelyard.store.reader import RunRecord


def _synthetic() -> ModuleType:
    """The module beside this file; test folders are no packages, so there is no other way to share it."""
    name, path = "steelyard_synthetic_runs", Path(__file__).parents[1] / "analysis" / "synthetic.py"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def plans() -> ModuleType:
    """Plans with a known truth: `plans.gensim()`, `plans.streams()`, `plans.growing()`."""
    return _synthetic()


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., RunRecord]:
    return functools.partial(_synthetic().build, tmp_path)
