"""Paths among the options of workloads."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator


def _absolute(value: str) -> str:
    if not PurePosixPath(value).is_absolute():
        raise ValueError(f"'{value}' must be an absolute path")
    return value


Absolute = Annotated[str, AfterValidator(_absolute)]
"""A path from the root, on whatever host."""
