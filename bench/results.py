"""Results as JSON: `results/<utc time>.json`, one document for each session."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.row import Row

FOLDER = Path(__file__).parent / "results"


def write(rows: Sequence[Row], folder: Path, *, quick: bool) -> Path:
    """Write the rows with what there is to know of the machine; the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / time.strftime("%Y%m%d-%H%M%S.json", time.gmtime())
    document = {"schema": 1, "quick": quick, "machine": machine(), "rows": [plain(row) for row in rows]}
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
    return path


def plain(row: Row) -> dict[str, Any]:
    """A row with its medians, ratio and verdict."""
    medians = {
        f"{side}_median": statistics.median(figures) if figures else None
        for side, figures in (("ours", row.ours), ("theirs", row.theirs))
    }
    return {**dataclasses.asdict(row), **medians, "ratio": row.ratio, "verdict": row.verdict}


def machine() -> dict[str, Any]:
    """What explains a difference between two sessions."""
    packages = ("steelyard", "reframe-hpc")
    return {
        "wall": time.time(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": os.getloadavg(),
        "versions": {name: _version(name) for name in packages},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
