"""What folders hold, as one hash: a tool that was built from other sources is to be built again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def hash_folders(folders: Iterable[Path]) -> str:
    """Of the names and contents of all files in the folders, in order."""
    hasher = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            hasher.update(f"{path.relative_to(folder)}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()
