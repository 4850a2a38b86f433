"""What every way to save and restore provides."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Way(ABC):
    """Its methods are called in this order, each once, but for `end`, which is called whatever failed.

    `path` is the state file. All of them raise CheckpointFault and OSError.
    """

    path: str

    @abstractmethod
    def begin(self) -> None:
        """Have what is to be saved, at work."""

    @abstractmethod
    def save(self) -> dict[str, float]:
        """Save it, and sync the state file and its directory. Seconds by step, `save` in all."""

    @abstractmethod
    def kill(self) -> None:
        """End it without notice; only the state file is left of it."""

    @abstractmethod
    def restore(self) -> dict[str, float]:
        """Have it again from the state file: seconds as `restore`."""

    @abstractmethod
    def check(self) -> None:
        """Compare it with what it was when it was saved."""

    @abstractmethod
    def end(self) -> None:
        """Leave no process."""
