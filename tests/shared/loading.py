"""How tests use a file that lies beside them: test folders are no packages, so `import` does not find it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def loaded(path: Path) -> ModuleType:
    """The module in a file beside the tests; the same one for all who ask.

    A file of tests that is loaded so is another module than the one that pytest makes of it.
    """
    name = str(path.resolve())  # no import statement can spell it: it hides nobody else's module
    if name not in sys.modules:
        _load(name)
    return sys.modules[name]


def _load(path: str) -> None:
    spec = importlib.util.spec_from_file_location(path, path)
    assert spec
    assert spec.loader
    module = sys.modules[path] = importlib.util.module_from_spec(spec)  # dataclasses look for theirs there
    try:
        spec.loader.exec_module(module)
    except BaseException:  # a skip is no Exception
        del sys.modules[path]  # or the next who asks would get half of it
        raise
