"""How tests wait for what must come.

Patience is a guard against hangs and judges nothing: on a machine that others use, too, everything takes as
long as it takes. A process that a test waits for has no limit of its own: pytest's (`timeout` in
pyproject.toml) ends the test, and with it the process. How fast something is belongs to the bench.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300.0


def until(condition: Callable[[], Any], seconds: float = PATIENCE) -> bool:
    """Look again and again until something is so; False when it never is."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


async def comes(condition: Callable[[], Any], seconds: float = PATIENCE) -> bool:
    """The same while the event loop goes on."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True
