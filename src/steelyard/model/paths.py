"""Paths among the options of plug-ins."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _check_absolute(value: str) -> str:
    if not _is_absolute(value):
        raise ValueError(f"'{value}' must be an absolute path")
    return value


def _check_place(value: str) -> str:
    if not (_is_absolute(value) or _NAME.fullmatch(value)):
        raise ValueError(f"'{value}' is not 'scratch', an absolute path or the name of a service")
    return value


def _is_absolute(value: str) -> bool:
    return PurePosixPath(value).is_absolute() and "\0" not in value


def is_service(directory: str) -> bool:
    """Whether a workload's directory is in a file system that a service brings; it is the service's name."""
    return directory != "scratch" and not _is_absolute(directory)


Absolute = Annotated[str, AfterValidator(_check_absolute)]
"""A path from the root, on whatever host."""

ScratchOrAbsolute = Annotated[str, AfterValidator(_check_place)]
"""`scratch`, the run's own directory on each host; or a path from the root, in which the run makes one."""
