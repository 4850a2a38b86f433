"""Take the runs of another store into this one: of a CI job's artefact, of a colleague, of another machine.

The other store is a stranger's: only regular files are copied, through no link, and a run appears whole or
not at all. What is imported can be shown, compared and reported; nothing in it is ever run.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.errors import StoreError
from steelyard.files import part_name
from steelyard.store.copying import copy_record
from steelyard.store.decisions import add_decisions, list_decisions
from steelyard.store.layout import RunFolder, Store
from steelyard.store.writer import is_live
from steelyard.untrusted import read_content

HERE = "it is here already"


class Imported(NamedTuple):
    """What became of a run: it was taken in unless there is a `reason` why not."""

    run: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Importer:
    """From `source` into `target`; with `light`, without what trials and services wrote."""

    source: Store
    target: Store
    light: bool = False

    def list_runs(self) -> list[RunFolder]:
        """Those of the source. Raises StoreError where it is no store."""
        if not self.source.runs.is_dir():
            raise StoreError(f"{self.source.root} is no store: it has no directory 'runs'")
        return self.source.list_runs()

    def take(self, run: RunFolder) -> Imported:
        """One run. Raises StoreError when this store cannot be written to."""
        place = self.target.runs / run.id
        if os.path.lexists(place):
            return Imported(run.id, _compare_journals(run, RunFolder(place)))
        if is_live(run):
            return Imported(run.id, "it is still going on; import it when it has ended")
        if not run.journal.is_file():
            return Imported(run.id, "it has no journal")
        part = self.target.make_runs() / part_name(run.id)
        try:
            copy_record(run.path, part, light=self.light)
            RunFolder(part).mark_imported(str(self.source.root.absolute()), time.time())
            part.rename(place)
        except OSError as error:
            raise StoreError(f"cannot import run {run.id}: {error.strerror}: {error.filename}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return Imported(run.id)

    def take_decisions(self) -> int:
        """What people decided there and nobody here did; how many. Raises StoreError."""
        known = set(list_decisions(self.target))
        new = [one for one in list_decisions(self.source) if one not in known]
        if new:
            add_decisions(self.target, new)
        return len(new)


def _compare_journals(theirs: RunFolder, ours: RunFolder) -> str:
    try:
        same = read_content(theirs.journal) == read_content(ours.journal)
    except OSError:
        same = False
    if same:
        return HERE
    return f"another record of it is here; `steelyard rm {ours.id}` makes room for it"
