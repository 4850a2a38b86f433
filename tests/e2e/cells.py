"""An application for tests of clusters: `load N` writes rows, `count` prints how many there are.

It knows nothing of Steelyard but what its environment says, and speaks CQL by itself (tests/services/cql.py).
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any


def client() -> Any:
    path = Path(__file__).parents[1] / "services" / "cql.py"
    spec = importlib.util.spec_from_file_location("cells_cql", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    where = os.environ["CONTACT_NAMES"].split(",")[0], int(os.environ["NODE_PORT"])
    return module.Cql(*where, os.environ["STEELYARD_SERVICE_USER"], os.environ["STEELYARD_SERVICE_PASSWORD"])


def again(found: Any, statement: str) -> int:
    """Until it succeeds: a new table is known to all nodes only after a moment."""
    for attempt in range(100):
        try:
            return int(found.run(statement))
        except Exception:
            if attempt == 99:
                raise
            time.sleep(0.1)
    return 0


def main(verb: str, count: str = "0") -> None:
    with client() as found:
        if verb == "load":
            found.run("CREATE TABLE cells.cell (x int PRIMARY KEY, y int)")
            for x in range(int(count)):
                again(found, f"INSERT INTO cells.cell (x, y) VALUES ({x}, {x * x})")
        print(again(found, "SELECT x FROM cells.cell"), flush=True)


main(*sys.argv[1:])
