"""Directories that others may write to: refused, unless the user says that they are to be trusted."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import UsageError
from steelyard.files import write_whole
from steelyard.hosts.minder.ownership import find_untrusted_entry, trust_list, trusted_directories


def check_ownership(path: Path, what: str, *, shared: bool = False) -> None:
    """Make sure that nobody but us and root can replace what lies at a path; see `find_untrusted_entry`.

    Raises UsageError that names the entry at fault, and how to trust its directory.
    """
    place = path.absolute()
    try:
        reason = find_untrusted_entry(str(place), shared=shared)
    except OSError as error:
        raise UsageError(f"{what} {path} cannot be checked: {error.strerror}") from error
    if reason:
        at_fault = Path(reason.partition(": ")[0])
        directory = at_fault if at_fault.is_dir() else at_fault.parent
        hint = f"if you trust everyone who may write there: `steelyard trust {directory}`"
        raise UsageError(f"{what} {path} is not used: {reason}", hint=hint)


def find_config(name: str) -> Path:
    """Where a file of the user's own settings is, if there is one; it lies beside the list of directories."""
    return Path(trust_list()).with_name(name)


def trust(directory: Path) -> Path:
    """Add a directory to those that are trusted; its real path. Raises UsageError and OSError."""
    place = directory.resolve()
    if not place.is_dir() or "\n" in str(place):
        raise UsageError(f"{directory} is not a directory that can be trusted")
    listed = trusted_directories()
    if str(place) not in listed:
        _write([*listed, str(place)])
    return place


def distrust(directory: Path) -> bool:
    """Take a directory off the list; whether it stood there. Raises OSError."""
    listed = trusted_directories()
    names = {str(directory.absolute()), str(directory.resolve())}
    if names.isdisjoint(listed):
        return False
    _write([each for each in listed if each not in names])
    return True


def _write(directories: list[str]) -> None:
    """The list anew; its owner alone may write it, or it does not count."""
    path = Path(trust_list())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = "".join(f"{each}\n" for each in directories)
    write_whole(path, text.encode(errors="surrogateescape"), mode=0o600)
