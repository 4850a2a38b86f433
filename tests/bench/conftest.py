"""`bench` lies beside `tests`; it is found also when pytest was not started with `python -m`."""

from __future__ import annotations

import sys
from pathlib import Path

REPOSITORY = str(Path(__file__).parents[2])
if REPOSITORY not in sys.path:
    sys.path.append(REPOSITORY)
