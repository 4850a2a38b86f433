"""Published results and requirements, as data; their words are ours."""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).parent


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a table by its columns: `results.csv`, `requirements.csv`, `documents.csv`."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
