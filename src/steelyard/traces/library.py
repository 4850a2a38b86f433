"""The recorder's library for this machine, which `make probe` builds."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.errors import SteelyardError

PLACE = "STEELYARD_TRACE"
"""The variable that tells the library where segments go: an absolute path."""
_FOLDER = Path(__file__).with_name("bin")


def find_library() -> Path:
    """Raises SteelyardError where it was not built."""
    path = _FOLDER / f"steelyard-recorder-{os.uname().machine}"
    if not path.is_file():
        hint = "`make probe` builds it in a checkout of Steelyard; it needs a C compiler"
        raise SteelyardError(f"the recorder's library was not built for {os.uname().machine}", hint=hint)
    return path


def preload_variables(library: Path, place: Path) -> dict[str, str]:
    """Variables under which a program and those that it starts are recorded."""
    others = os.environ.get("LD_PRELOAD", "")
    return {"LD_PRELOAD": f"{library}:{others}" if others else str(library), PLACE: str(place.absolute())}
