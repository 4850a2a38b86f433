"""A server's application over a store, and a client that shows its token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asgi import Client
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.web.access.gate import Access
from steelyard.web.access.tokens import Tokens
from steelyard.web.app import make_app

TOKENS = Tokens("a" * 43, "r" * 43)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where servers keep what they know."""
    place = tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    return place


@pytest.fixture
def tokens() -> Tokens:
    """Those of the server."""
    return TOKENS


@pytest.fixture
def client_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[RunRecord], Client]:
    """A client of a server of the store that a record lies in; nothing else measures meanwhile."""
    for module in ("quiet", "pages.machines", "live.run_channel"):
        monkeypatch.setattr(f"steelyard.web.{module}.find_measuring_run", lambda: None)

    def make(record: RunRecord, **access: Any) -> Client:
        app = make_app(Store(record.folder.path.parents[1]), Access(TOKENS, **access))
        return Client(app, headers={"authorization": f"Bearer {TOKENS.act}"})

    return make
