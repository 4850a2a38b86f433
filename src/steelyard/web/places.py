"""Where servers keep things: in the user's own directories, by store, closed to other accounts."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


def state_folder() -> Path:
    """What must last; XDG_STATE_HOME is honoured."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "steelyard" / "web"


def cache_folder() -> Path:
    """What may be deleted at any time; XDG_CACHE_HOME is honoured."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard" / "web"


def name_file(store: Path) -> str:
    """The file of a store in either."""
    return f"{hashlib.sha256(os.fsencode(store.absolute())).hexdigest()[:16]}.json"


def is_private(folder: Path) -> bool:
    """Whether it is a directory of ours, and no link to one, that nobody else may enter. Raises OSError."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
