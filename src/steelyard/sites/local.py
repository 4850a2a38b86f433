"""This machine."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from steelyard.remote.base import Host
from steelyard.remote.local import LocalHost
from steelyard.remote.token import Token
from steelyard.sites.base import Site


class Local(Site):
    """One host: the machine that the controller runs on."""

    def lease(self, token: Token, log: Path) -> AbstractAsyncContextManager[Host]:
        """This machine, with a minder of its own."""
        return LocalHost.open(token, log)
