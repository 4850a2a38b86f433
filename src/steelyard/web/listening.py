"""Where a server listens: this machine's loopback, or, on a machine that one is logged in to, a socket file.

On a login node the loopback is everybody's: others may connect, and take the port when we are gone. A socket
in a directory of ours is not, and `ssh -L` brings it to the browser.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import HostError, UsageError
from steelyard.web.places import is_private

PORT = 8484
TRIES = 20
_BACKLOG = 128


class Listening(NamedTuple):
    """A socket that listens, and how it is named: `address` and `port`, or `path`."""

    socket: socket.socket
    address: str = ""
    port: int = 0
    path: Path | None = None


def parse_address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8484`, `[::1]:8484`, `8484`. Raises UsageError."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    try:
        ipaddress.ip_address(host)
        if not 0 <= int(port) < 1 << 16:
            raise ValueError
    except ValueError:
        hint = "for example --listen 127.0.0.1:8484"
        raise UsageError(f"--listen {text} is not an address and a port", hint=hint) from None
    return host, int(port)


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches it."""
    return ipaddress.ip_address(address).is_loopback


@contextmanager
def listen_at(address: str, port: int, *, exactly: bool) -> Iterator[Listening]:
    """Listen on TCP; at the next ports where this one is taken, unless it must be `exactly` this.

    Raises HostError.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for each in range(port, port + (1 if exactly else TRIES)):
            try:
                listening.bind((address, each))
                listening.listen(_BACKLOG)
            except OSError as error:
                problem = error
                continue
            yield Listening(listening, address, listening.getsockname()[1])
            return
        hint = "choose another port with --listen ADDRESS:PORT; --listen 127.0.0.1:0 takes a free one"
        raise HostError(f"cannot listen on {address} port {port}: {problem.strerror}", hint=hint)


@contextmanager
def listen_at_file(path: Path) -> Iterator[Listening]:
    """Listen on a Unix socket that only we can connect to, in a directory that only we can enter.

    Raises HostError.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(path.parent):
            hint = f"`chmod 700 {path.parent}`, or name another place with --socket"
            raise HostError(f"{path.parent} is open to other accounts, so no socket is made there", hint=hint)
        _remove_dead(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            before = os.umask(0o177)
            try:
                listening.bind(str(path))
            finally:
                os.umask(before)
            listening.listen(_BACKLOG)
            try:
                yield Listening(listening, path=path)
            finally:
                with suppress(FileNotFoundError):
                    path.unlink()
    except OSError as error:
        raise HostError(f"cannot listen on {path}: {error.strerror or error}") from error


def _remove_dead(path: Path) -> None:
    """What a killed server left; one that answers is somebody's. Raises HostError."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        try:
            other.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    hint = "use that one (`steelyard serve --links` prints its links), or name another place with --socket"
    raise HostError(f"another server listens on {path}", hint=hint)
