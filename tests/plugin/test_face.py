"""The one face of plug-ins: small, documented, and light where a plan reads it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import steelyard.plugin

FACE = steelyard.plugin
MODULES = [FACE.__name__, *(f"{FACE.__name__}.{one.name}" for one in pkgutil.iter_modules(FACE.__path__))]
LIGHT = ("", ".workload", ".collector", ".site")


@pytest.mark.parametrize("name", MODULES)
def test_what_it_hands_on_is_public_and_documented(name):
    module = importlib.import_module(name)
    for each in module.__all__:
        value = getattr(module, each)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{each} has no docstring"


@pytest.mark.parametrize("kind", LIGHT)
def test_a_plan_that_reads_it_needs_no_asyncio(kind):
    code = f"import sys, steelyard.plugin{kind}; sys.exit('asyncio' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
