"""A run's record copied to another place, whoever it belongs to: regular files only, through no link."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from steelyard.files import NEW
from steelyard.store.layout import CRATE
from steelyard.untrusted import open_regular

_OF_THE_MOMENT = ("control.json", "cancelled", "reserve", "probe", "derived", "minder.log", "imported")
_OF_A_CRATE = (CRATE, "figures.csv", "report.html")
_OUTPUTS = ("trials", "services")


def copy_record(run: Path, target: Path, *, light: bool = False) -> None:
    """Copy what lasts of a run's folder into a new directory; with `light`, without what trials wrote.

    Each directory is held open while it is read, so that nothing on the way can be changed. Raises OSError.
    """
    left = (*_OF_THE_MOMENT, *_OF_A_CRATE, *(_OUTPUTS if light else ()))
    target.mkdir(mode=0o700)
    for folder, names, files, handle in os.fwalk(run, follow_symlinks=False):
        place = target / Path(folder).relative_to(run)
        aside = left if Path(folder) == run else ()
        names[:] = [name for name in names if name not in aside]
        for name in names:
            (place / name).mkdir()
        for name in files:
            if name not in aside:
                _copy_file(name, handle, place / name)


def _copy_file(name: str, directory: int, place: Path) -> None:
    """A regular file; of links, sockets and the like there is nothing to keep."""
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            return
        with (
            open_regular(Path(name), directory) as source,
            os.fdopen(os.open(place, NEW, 0o644), "wb") as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
        os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
