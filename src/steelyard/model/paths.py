"""Paths among the options of plug-ins."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator


def _check_absolute(value: str) -> str:
    if not _is_absolute(value):
        raise ValueError(f"'{value}' must be an absolute path")
    return value


def _check_place(value: str) -> str:
    if value != "scratch" and not _is_absolute(value):
        raise ValueError(f"'{value}' is neither 'scratch' nor an absolute path")
    return value


def _is_absolute(value: str) -> bool:
    return PurePosixPath(value).is_absolute() and "\0" not in value


Absolute = Annotated[str, AfterValidator(_check_absolute)]
"""A path from the root, on whatever host."""

ScratchOrAbsolute = Annotated[str, AfterValidator(_check_place)]
"""`scratch`, the run's own directory on each host; or a path from the root, in which the run makes one."""
