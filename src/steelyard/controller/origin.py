"""The file that a run began with, and whether it is still what it was."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from steelyard.untrusted import read_content


def describe_file(file: Path) -> dict[str, str]:
    """Where an experiment's file lies, and the digest of what stands in it, for the journal."""
    return {"path": str(file.absolute()), "digest": _digest(file)}


def describe_change(recorded: Any, copy: Path) -> str:
    """A sentence where a run that goes on by its `copy` began with a file that says something else by now."""
    if not isinstance(recorded, dict) or not (path := str(recorded.get("path", ""))):
        return ""
    now = _digest(Path(path))
    if not now or now == recorded.get("digest"):
        return ""
    return (
        f"{path} has changed since this run began; the run continues with its copy, {copy};"
        f" use `steelyard run {path}` to measure the changed file"
    )


def _digest(file: Path) -> str:
    """Of a file; empty where it cannot be read."""
    try:
        return hashlib.sha256(read_content(file)).hexdigest()
    except OSError:
        return ""
