"""How to log in to a host by SSH, as people write it. Light: asyncssh is not needed to read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Self

_HOST = r"\[(?P<bracketed>[0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|(?P<plain>[A-Za-z0-9_](?:[\w.-]*\w)?)"
_FORM = re.compile(rf"(?:(?P<user>[^@\s,:]+)@)?(?:{_HOST})(?::(?P<port>[0-9]{{1,5}}))?", re.ASCII)
NONE = "none"


@dataclass(frozen=True, slots=True)
class Login:
    """A host and how to get in. What is None comes from ssh_config(5), or is what `ssh HOST` would take.

    - `key` is the file of a private key; its passphrase, should it have one, is the agent's business.
    - `jump` lists jump hosts, `[user@]host[:port]` parted by commas; `none` overrules ssh_config.
    - `known_hosts` is the file that holds the host keys to trust; with `none` they are not checked.
    - `config` is the file read in place of ~/.ssh/config; with `none` no file is.
    - `agent` says whether ssh-agent may be asked for keys.
    - `private` and `trusted` stand for the files of `key` and `known_hosts`: what they would hold.
    - `connect_within` bounds all tries to connect together, `lost_after` the silence of a host; in seconds.
    """

    host: str
    user: str | None = None
    port: int | None = None
    key: str | None = None
    jump: str | None = None
    known_hosts: str | None = None
    config: str | None = None
    agent: bool = True
    connect_within: float = 20.0
    lost_after: float = 10.0
    private: bytes | None = field(default=None, repr=False)
    trusted: str | None = field(default=None, repr=False)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read `[user@]host[:port]`, an IPv6 address in brackets. Raises ValueError with an example."""
        form = _FORM.fullmatch(text.strip())
        port = int(form["port"]) if form and form["port"] else None
        if form is None or port == 0 or (port or 0) > 65535:
            raise ValueError(
                f"{text!r} is not [user@]host[:port], for example alice@node1:2222 or [fd00::1]:22"
            )
        return cls(form["bracketed"] or form["plain"], form["user"], port)

    def hops(self, jump: object) -> tuple[Login, ...]:
        """The jump hosts of such a list, entered with the same key, files and patience. Raises ValueError."""
        if not jump or jump == NONE:
            return ()
        parsed = [Login.from_text(hop) for hop in str(jump).split(",")]
        return tuple(replace(self, host=hop.host, user=hop.user, port=hop.port, jump=None) for hop in parsed)
