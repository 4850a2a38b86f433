"""What all pages know of the server that they belong to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from steelyard.errors import UsageError
from steelyard.store.layout import RunFolder, Store, account_name
from steelyard.web.live.hub import Hub
from steelyard.web.runs_index import RunsIndex
from steelyard.web.starting.starter import RunStarter

_LONGEST_NUMBER = 20  # digits


@dataclass(frozen=True)
class WebContext:
    """A store, what is known of its runs, and the channels of those that are looked at."""

    store: Store
    index: RunsIndex
    hub: Hub
    starter: RunStarter | None = None

    def get_starter(self) -> RunStarter:
        """What starts runs. Raises UsageError where nothing may be started."""
        if self.starter is None:
            raise UsageError("this server starts nothing")
        return self.starter


def get_context(request: Request) -> WebContext:
    """That of the server which got a request."""
    return cast(WebContext, request.app.state.context)


def name_user() -> str:
    """Who asks for what, as records have it."""
    return f"{account_name(os.geteuid())} in a browser"


def parse_number(text: str) -> int | None:
    """A number as a URL or a header has it; None where it is none."""
    return int(text) if text.isdecimal() and len(text) < _LONGEST_NUMBER else None


def find_run(request: Request) -> RunFolder:
    """The run that the URL names. Raises UnknownName."""
    return get_context(request).store.find(request.path_params["run"])
