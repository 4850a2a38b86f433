"""The two random tokens of a server: one that may do everything, one that may only read.

::

    ~/.local/state/steelyard/web/<store>.json      (0600 in a directory of 0700; XDG_STATE_HOME is honoured)

They outlive the server, so that a page that is open goes on when it is started again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from steelyard.errors import UsageError
from steelyard.files import write_whole
from steelyard.untrusted import open_regular
from steelyard.web.places import is_private, name_file, state_folder

Right = Literal["act", "read"]
BYTES = 32
_MOST = 4096


class Tokens(NamedTuple):
    """`act` may start and end runs; `read` may look."""

    act: str
    read: str

    def right_of(self, token: str) -> Right | None:
        """What a token allows."""
        by_right: dict[Right, str] = {"act": self.act, "read": self.read}
        return _match(token, by_right)

    def make_cookie(self, right: Right) -> str:
        """What stands for a token once it was shown: it opens the pages, and is no token."""
        return hmac.new(getattr(self, right).encode(), b"cookie", hashlib.sha256).hexdigest()

    def right_of_cookie(self, cookie: str) -> Right | None:
        """What a cookie allows."""
        return _match(cookie, {"act": self.make_cookie("act"), "read": self.make_cookie("read")})


def load_tokens(store: Path, *, renew: bool = False) -> Tokens:
    """Those of the servers of a store, which are made where there are none. Raises UsageError."""
    path = state_folder() / name_file(store)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(path.parent):
            hint = f"`chmod 700 {path.parent}` closes it; or set XDG_STATE_HOME to a directory you own"
            raise UsageError(
                f"{path.parent} is open to other accounts, so no tokens are kept there", hint=hint
            )
        known = None if renew else _read(path)
        tokens = known or Tokens(secrets.token_urlsafe(BYTES), secrets.token_urlsafe(BYTES))
        if known is None:
            write_whole(path, json.dumps(tokens._asdict()).encode(), mode=0o600)
    except OSError as error:
        hint = "set XDG_STATE_HOME to a directory you own"
        raise UsageError(f"cannot keep the tokens in {path}: {error.strerror or error}", hint=hint) from error
    return tokens


def _match(shown: str, by_right: Mapping[Right, str]) -> Right | None:
    """All are looked at, whichever it is."""
    matches = [
        right for right, known in by_right.items() if hmac.compare_digest(shown.encode(), known.encode())
    ]
    return matches[0] if matches else None


def _read(path: Path) -> Tokens | None:
    """None where there are none, or none that only we can have read and written."""
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                return None
            stored = json.loads(file.read(_MOST))
        tokens = Tokens(str(stored["act"]), str(stored["read"]))
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None
    return tokens if min(map(len, tokens)) >= BYTES else None
