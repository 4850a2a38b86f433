"""Steelyard: reproducible experiments on HPC and cloud data infrastructure.

From Python::

    import steelyard

    run = steelyard.run(steelyard.Experiment(
        experiment="nap",
        parameters={"seconds": [0.1, 0.2]},
        workload={"use": "command", "run": ["sleep", "${seconds}"]},
    ))
    run                                   # a table, in a notebook
    run.rows()                            # the same as a list of dicts
    run.report("nap.html")

Names are loaded on first use, so that `import steelyard` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from steelyard.api import Run, last, load, resume, run
    from steelyard.errors import SteelyardError
    from steelyard.model.experiment import Experiment

__all__ = ["Experiment", "Run", "SteelyardError", "__version__", "last", "load", "resume", "run"]

_HOMES = {
    "Experiment": "steelyard.model.experiment",
    "SteelyardError": "steelyard.errors",
    **dict.fromkeys(("Run", "last", "load", "resume", "run"), "steelyard.api"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
