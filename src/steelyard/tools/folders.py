"""What a tool is built from, as a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def hash_folders(folders: Iterable[Path]) -> str:
    """SHA-256 of all files in folders, with their names."""
    hasher = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            hasher.update(f"{path.relative_to(folder)}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()
