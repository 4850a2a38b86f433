"""Who watches must not disturb what is measured here: what takes long waits while a run has its turn.

Reading a journal as it grows is cheap and always done. Working out statistics, writing reports and looking at
the machine are not, so they wait until the turn is free, unless the user says that it cannot wait.
"""

from __future__ import annotations

from starlette.requests import Request

from steelyard.controller.machine.lock_files import find_measuring_run


def find_reason_to_wait(request: Request) -> str:
    """Whose turn it is now, as a clause; empty where it is nobody's, or `?now=1` says not to wait."""
    return "" if request.query_params.get("now") == "1" else find_measuring_run() or ""
