"""What goes wrong on the host, in a sentence for the user."""

from __future__ import annotations

import os


class CheckpointFault(Exception):
    """The trial fails with this sentence."""


def describe_error(doing: str, error: OSError, path: str = "") -> str:
    """The sentence of an error of the system, with the file that it is about, by default this one."""
    about = error.filename or path
    what = os.strerror(error.errno) if error.errno else str(error)
    return f"cannot {doing}{f' {about}' if about else ''}: {what}"
