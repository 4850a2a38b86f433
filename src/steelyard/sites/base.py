"""The kind `site`: where hosts come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from steelyard.plugins import find
from steelyard.remote.base import Host
from steelyard.remote.token import Token


class Site(ABC):
    """Base of all sites."""

    @abstractmethod
    def lease(self, token: Token, log: Path) -> AbstractAsyncContextManager[Host]:
        """A host for as long as the block lasts. Whatever the run started on it is gone afterwards.

        `token` marks everything that is started; `log` takes what goes wrong in the machinery itself.
        """


def find_site(name: str) -> Site:
    """The site of a name. Raises UnknownName."""
    return find("sites", name, Site)()  # type: ignore[type-abstract]
