"""The runs of a store at a glance, each read again only when its journal has changed. No database.

What is known of runs that are over is kept in `~/.cache/steelyard/web/<store>.json` between two servers,
because reading 10,000 journals takes ten seconds; it may be deleted at any time.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from steelyard.errors import StoreError
from steelyard.files import write_whole
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import UNDER_WAY, Glance, glance
from steelyard.untrusted import read_content
from steelyard.web.places import cache_folder, name_file

LOOK_AT_LOCK_EVERY = 1.0
"""Seconds between two looks at whether a run lives: each takes its lock for an instant."""
SETTLED = 2.0
"""Seconds after which a directory's time says whether it has changed: it counts in ticks of a clock."""
MOST = 50
SCHEMA = 1
_Key = tuple[int, int]


class RunsQuery(NamedTuple):
    """Which runs to show: an empty text is any. `before`: only those older than this run."""

    state: str = ""
    experiment: str = ""
    site: str = ""
    tag: str = ""
    text: str = ""
    before: str = ""

    @classmethod
    def parse(cls, parameters: Mapping[str, str]) -> Self:
        """From a URL; what is not of these names is not looked at."""
        return cls(**{name: parameters.get(name, "").strip()[:200] for name in cls._fields})

    @property
    def is_filter(self) -> bool:
        """Whether any run is left out for what it is."""
        return any(self[:-1])

    def matches(self, run: Glance) -> bool:
        """Whether it is one of those."""
        name, _, value = self.tag.partition("=")
        return (
            self.state in ("", run.state)
            and self.experiment in ("", run.title)
            and self.site in ("", run.site)
            and (not name or (name in run.tags and value in ("", run.tags[name])))
            and (not self.text or self.text.lower() in _describe(run).lower())
        )


class RunsPage(NamedTuple):
    """Runs, the newest first; `total` counts those in the store, `more` says whether older ones follow."""

    runs: list[Glance]
    total: int
    more: bool


class RunsIndex:
    """Looks at runs, and remembers."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, tuple[_Key, float, Glance]] = {}
        self._listed: tuple[int, list[str]] | None = None
        self._is_new = False
        self._load()

    def select(self, query: RunsQuery, most: int = MOST) -> RunsPage:
        """The newest that match. Raises StoreError where the store cannot be read."""
        ids = self._list_ids()
        shown: list[Glance] = []
        for name in _iterate_newest(ids, query.before):
            run = self.look(RunFolder(self.store.runs / name))
            if query.matches(run):
                if len(shown) == most:
                    return RunsPage(shown, len(ids), more=True)
                shown.append(run)
        return RunsPage(shown, len(ids), more=False)

    def look(self, folder: RunFolder) -> Glance:
        """A run at a glance."""
        try:
            status = folder.journal.lstat()
        except OSError:
            return glance(folder)
        key, now = (status.st_mtime_ns, status.st_size), time.monotonic()
        known = self._known.get(folder.id)
        if known and known[0] == key and (known[2].state not in UNDER_WAY or now < known[1]):
            return known[2]
        run = glance(folder)
        self._known[folder.id] = (key, now + LOOK_AT_LOCK_EVERY, run)
        self._is_new = True
        return run

    def save(self) -> None:
        """Keep what is known of runs that are over; where that cannot be written, nothing is lost."""
        if not self._is_new:
            return
        with suppress(OSError, StoreError):
            there = set(self._list_ids())
            runs = {
                name: [*key, dataclasses.asdict(run)]
                for name, (key, _, run) in list(self._known.items())
                if run.state not in UNDER_WAY and name in there
            }
            self._cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self._cache, json.dumps({"schema": SCHEMA, "runs": runs}).encode(), mode=0o600)
            self._is_new = False

    def _load(self) -> None:
        """Whatever is no such file is as good as none."""
        try:
            if self._cache.lstat().st_uid != os.geteuid():
                return
            document = json.loads(read_content(self._cache))
            if document["schema"] == SCHEMA:
                self._known = {name: _parse_entry(entry) for name, entry in document["runs"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            self._known = {}

    @property
    def _cache(self) -> Path:
        return cache_folder() / name_file(self.store.root)

    def _list_ids(self) -> list[str]:
        """All of the store, oldest first, listed again when its directory has changed."""
        try:
            changed = self.store.runs.stat().st_mtime_ns
        except OSError:
            return self.store.list_ids()
        if self._listed is None or self._listed[0] != changed:
            ids = self.store.list_ids()
            settled = time.time_ns() - changed > SETTLED * 1e9
            self._listed = (changed if settled else 0, ids)
        return self._listed[1]


def _iterate_newest(ids: list[str], before: str) -> Iterator[str]:
    """Those older than a run are those that stand before it, as ids of one second have no order."""
    if before and before in ids:
        return reversed(ids[: ids.index(before)])
    return (name for name in reversed(ids) if not before or name < before)


def _describe(run: Glance) -> str:
    return " ".join((run.run, run.title, run.site, *(f"{name}={value}" for name, value in run.tags.items())))


def _parse_entry(entry: list[Any]) -> tuple[_Key, float, Glance]:
    modified, size, run = entry
    return (int(modified), int(size)), 0.0, Glance(**run)
