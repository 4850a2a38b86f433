"""Where `steelyard-probe` lies for a kind of machine, when it was built: `make probe`."""

from __future__ import annotations

import os
import re
from pathlib import Path

VARIABLE = "STEELYARD_PROBE"
"""Names the probe's file, or is `none` where hosts are to do without."""


def find_probe(system: str, machine: str) -> Path | None:
    """The probe for a system and machine as uname -s and -m name them; None when there is none."""
    named = os.environ.get(VARIABLE)
    if system != "Linux" or named == "none" or not re.fullmatch(r"[A-Za-z0-9_-]+", machine):
        return None
    path = Path(named) if named else Path(__file__).parent / "bin" / f"steelyard-probe-{machine}"
    return path.absolute() if path.is_file() and os.access(path, os.X_OK) else None
