"""From `--store` to the store. One that is merely found in the working directory must be ours alone."""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.store.layout import DEFAULT, Store
from steelyard.trust import check_ownership


def choose_store(option: str | None) -> Store:
    """The store of `--store`, else of STEELYARD_STORE, else ./steelyard-runs.

    Raises UsageError when somebody else could have put the last one there: runs in it hold commands, which
    `resume` carries out.
    """
    named = option or os.environ.get("STEELYARD_STORE")
    if named:
        return Store(Path(named))
    store = Store(Path(DEFAULT))
    place = store.runs if store.runs.exists() else store.root
    check_ownership(place, "the store", shared=not os.path.lexists(place))
    return store
