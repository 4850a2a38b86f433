"""Files of this machine, read as a host reads them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def read_files(patterns: Iterable[str]) -> dict[str, str]:
    """Path to content; what is missing or cannot be read is left out."""
    texts = {}
    for pattern in patterns:
        for path in Path("/").glob(pattern.removeprefix("/")) if "*" in pattern else [Path(pattern)]:
            try:
                texts[str(path)] = path.read_bytes().decode(errors="replace")
            except OSError:
                continue
    return texts
