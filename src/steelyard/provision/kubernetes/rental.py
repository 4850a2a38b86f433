"""The file about a lease of pods: which cluster, which label, and whose run; see `lease_files`.

::

    ~/.local/state/steelyard/leases/<run>.<id>.kubernetes
        {"schema": 2, "id": …, "run": …, "kubeconfig": …, "context": …, "namespace": …, …}

It names the files that hold credentials, and holds none.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Self

from steelyard.errors import HostError
from steelyard.provision.lease_files import create_locked, leases_folder, open_abandoned, read_entries

SCHEMA = 2
SUFFIX = ".kubernetes"


@dataclass(frozen=True, slots=True)
class PodRental:
    """What one controller asked a cluster for: all that bears the label of `id` in the namespace.

    `token` is its controller's, `folder` its run's. Without `kubeconfig` it is kubectl's own choice.
    `cordons` says that its run may cordon nodes.
    """

    id: str
    run: str
    token: str
    folder: str
    kubeconfig: str | None
    context: str
    namespace: str
    cordons: bool = False


@dataclass
class PodRentalFile:
    """A rental with its file, locked by us."""

    path: Path
    rental: PodRental
    _file: int

    @classmethod
    def create(cls, rental: PodRental) -> Self:
        """Write it down, on the disk. Raises HostError; then nothing must be asked for."""
        path = leases_folder() / f"{rental.run}.{rental.id}{SUFFIX}"
        try:
            return cls(path, rental, create_locked(path, {"schema": SCHEMA, **asdict(rental)}))
        except OSError as error:
            hint = "set XDG_STATE_HOME to use another directory; without this file, no pod is started"
            message = f"{path.parent}: cannot record what is asked for: {error.strerror}"
            raise HostError(message, hint=hint) from error

    @classmethod
    def from_abandoned(cls, path: Path) -> Self | None:
        """One whose controller does not live any more; None while it does. Raises HostError."""
        try:
            file = open_abandoned(path)
        except OSError as error:
            raise HostError(f"{path}: {error.strerror}") from error
        if file is None:
            return None
        opening = read_entries(file)[0]
        names = [one.name for one in fields(PodRental)]
        if opening.get("schema") != SCHEMA or not all(name in opening for name in names):
            os.close(file)
            hint = "its pods end by themselves after their lease; then remove the file"
            raise HostError(f"{path} was written by another version of Steelyard", hint=hint)
        return cls(path, PodRental(**{name: opening[name] for name in names}), file)

    def remove(self) -> None:
        """Nothing is left."""
        with suppress(OSError):
            self.path.unlink()

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)
