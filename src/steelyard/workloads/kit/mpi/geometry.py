"""Geometries `t:x:y:z` among the options of workloads."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

AXES = ("t", "x", "y", "z")
_GEOMETRY = re.compile(r"[1-9][0-9]{0,11}(?::[1-9][0-9]{0,11}){3}")


def _check_geometry(value: str) -> str:
    if not _GEOMETRY.fullmatch(value):
        raise ValueError(
            f"'{value}' is not t:x:y:z, four whole numbers of at least 1; example: 100:100:100:10"
        )
    return value


def _check_block(value: str) -> str:
    return value if value == "auto" else _check_geometry(value)


def _check_chunk(value: str) -> str:
    return value if value == "contiguous" else _check_block(value)


Geometry = Annotated[str, AfterValidator(_check_geometry)]
BlockGeometry = Annotated[str, AfterValidator(_check_block)]
ChunkGeometry = Annotated[str, AfterValidator(_check_chunk)]


def parse_lengths(geometry: str) -> dict[str, int]:
    """The length of each axis of a geometry that was checked; none where it is only a word."""
    parts = geometry.split(":")
    return dict(zip(AXES, map(int, parts), strict=True)) if len(parts) == len(AXES) else {}
