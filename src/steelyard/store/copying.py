"""A run's record copied to another place, whoever it belongs to: regular files only, through no link."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

_OF_THE_MOMENT = ("control.json", "cancelled", "reserve", "probe", "derived", "minder.log", "imported")
_OF_A_CRATE = ("ro-crate-metadata.json", "figures.csv", "report.html")
_OUTPUTS = ("trials", "services")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_record(run: Path, target: Path, *, light: bool = False) -> None:
    """Copy what lasts of a run's folder into a new directory; with `light`, without what trials wrote.

    Each directory is held open while it is read, so that nothing on the way can be changed. Raises OSError.
    """
    target.mkdir(mode=0o700)
    for folder, names, files, handle in os.fwalk(run, follow_symlinks=False):
        place = target / Path(folder).relative_to(run)
        aside = _list_aside(light=light) if Path(folder) == run else ()
        names[:] = [name for name in names if name not in aside]
        for name in names:
            (place / name).mkdir()
        for name in files:
            if name not in aside:
                _copy_file(name, handle, place / name)


def _list_aside(*, light: bool) -> tuple[str, ...]:
    return (*_OF_THE_MOMENT, *_OF_A_CRATE, *(_OUTPUTS if light else ()))


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
