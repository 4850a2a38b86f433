"""The recorder's library for this machine, which `make probe` builds."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.errors import SteelyardError
from steelyard.hosts.capturing import RECORDER


def find_library() -> Path:
    """Raises SteelyardError where it was not built."""
    machine = os.uname().machine
    path = Path(RECORDER.bundled) / f"{RECORDER.name}-{machine}"
    if not path.is_file():
        hint = "`make probe` builds it in a checkout of Steelyard; it needs a C compiler"
        raise SteelyardError(f"the recorder's library was not built for {machine}", hint=hint)
    return path
