"""Take the runs of another store into this one: of a CI job's artefact, of a colleague, of another machine.

The other store is a stranger's: only regular files are copied, through no link, and a run appears whole or
not at all. What is imported can be shown, compared and reported; nothing in it is ever run.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import StoreError
from steelyard.files import part_name
from steelyard.store.decisions import add_decisions, list_decisions
from steelyard.store.layout import RunFolder, Store
from steelyard.store.writer import is_live
from steelyard.untrusted import read_content

HERE = "it is here already"
_OF_THE_MOMENT = ("control.json", "cancelled", "reserve", "probe", "derived", "minder.log")
_OUTPUTS = ("trials", "services")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
            self._copy(run.path, part)
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

    def _copy(self, run: Path, part: Path) -> None:
        """Each directory is held open while it is read, so that nothing on the way can be changed."""
        part.mkdir(mode=0o700)
        for folder, names, files, handle in os.fwalk(run, follow_symlinks=False):
            place = part / Path(folder).relative_to(run)
            aside = self._leave_aside(Path(folder) == run)
            names[:] = [name for name in names if name not in aside]
            for name in names:
                (place / name).mkdir()
            for name in files:
                if name not in aside:
                    _copy_file(name, handle, place / name)

    def _leave_aside(self, is_top: bool) -> tuple[str, ...]:
        if not is_top:
            return ()
        return (*_OF_THE_MOMENT, *(_OUTPUTS if self.light else ()))


def _copy_file(name: str, directory: int, place: Path) -> None:
    """A regular file; of links, sockets and the like there is nothing to keep."""
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            return
        with os.fdopen(os.open(name, _READ, dir_fd=directory), "rb") as source:
            if stat.S_ISREG(os.fstat(source.fileno()).st_mode):
                with os.fdopen(os.open(place, _NEW, 0o644), "wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))


def _compare_journals(theirs: RunFolder, ours: RunFolder) -> str:
    try:
        same = read_content(theirs.journal) == read_content(ours.journal)
    except OSError:
        same = False
    if same:
        return HERE
    return f"another record of it is here; `steelyard rm {ours.id}` makes room for it"
