"""Runs the server: where it listens, whom it lets in, until it is ended."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple

import uvicorn

from steelyard.errors import UsageError
from steelyard.store.layout import Store
from steelyard.web.access.gate import LOOPBACK_NAMES, Access
from steelyard.web.access.tokens import Tokens
from steelyard.web.app import make_app
from steelyard.web.listening import PORT, Listening, is_loopback, listen_at, listen_at_file, parse_address
from steelyard.web.places import state_folder
from steelyard.web.starting.starter import RunStarter

NICE = 10
"""Who watches must not disturb what is measured on the same machine."""
_GRACE = 1  # seconds for streams that are open when the server ends
_MOST_CONNECTIONS = 1000


class ServeOptions(NamedTuple):
    """How to serve. `listen` and `path` are empty where the user leaves the choice to us."""

    listen: str = ""
    path: Path | None = None
    hosts: tuple[str, ...] = ()
    prefix: str = ""
    behind_proxy: bool = False
    certificate: Path | None = None
    key: Path | None = None
    read_only: bool = False


def serve(store: Store, options: ServeOptions, tokens: Tokens, announce: Callable[[Listening], None]) -> None:
    """Serve until a signal ends it. Raises HostError, UsageError."""
    access = Access(
        tokens,
        LOOPBACK_NAMES | {name.lower() for name in options.hosts},
        options.prefix,
        secure=options.certificate is not None or options.behind_proxy,
        read_only=options.read_only,
    )
    with _listen(options) as place, RunStarter(store) as starter, suppress(KeyboardInterrupt):
        os.nice(NICE)
        # uvicorn ends in good order and raises the signal once more, which would end us before we are done.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        announce(place)
        uvicorn.Server(_configure(make_app(store, access, starter), options)).run(sockets=[place.socket])


def _listen(options: ServeOptions) -> AbstractContextManager[Listening]:
    if options.listen:
        address, port = parse_address(options.listen)
        if not is_loopback(address) and not (options.behind_proxy or options.certificate):
            hint = (
                "give --tls-certificate and --tls-key, say --behind-proxy where a proxy does TLS, or listen"
                " on 127.0.0.1 and use `ssh -L`"
            )
            raise UsageError(f"--listen {options.listen}: others could read the token on its way", hint=hint)
        return listen_at(address, port, exactly=True)
    if options.path or "SSH_CONNECTION" in os.environ:
        return listen_at_file(options.path or default_socket())
    return listen_at("127.0.0.1", PORT, exactly=False)


def default_socket() -> Path:
    """In the directory of the session where there is one, else in one of ours."""
    session = Path(f"/run/user/{os.geteuid()}")
    ours = session.is_dir() and os.access(session, os.W_OK)
    return (session / "steelyard-web" if ours else state_folder()) / "web.sock"


def _configure(app: object, options: ServeOptions) -> uvicorn.Config:
    """Plain asyncio and h11, which are enough, and no log of what was asked for: it would hold tokens."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
    )
