"""Programs that no registry has, played by small ones, where a server that gives up root may run them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "services" / "standins"
MEETING_PLACE = "STANDIN_RING"  # names the directory where nodes of a ring leave what others may know


def lay(place: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Copies below a directory that others may enter; the one to put on PATH.

    A Python in root's home is for root alone, so that of the distribution runs them where there is one.
    """
    programs, ring = place / "programs", place / "ring"
    for directory, mode in ((programs, 0o755), (ring, 0o1777)):
        directory.mkdir()
        directory.chmod(mode)
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or shutil.which("python3")
    for source in SOURCES.iterdir():
        text = source.read_text().replace("#!/usr/bin/env python3", f"#!{python}", 1)
        (programs / source.name).write_text(text)
        (programs / source.name).chmod(0o755)
    monkeypatch.setenv(MEETING_PLACE, str(ring))
    return str(programs)
