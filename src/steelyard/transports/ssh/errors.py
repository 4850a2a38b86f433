"""Why a host could not be reached by SSH: exceptions in, sentences for people out."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import asyncssh

from steelyard.errors import HostLost

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHKey, SSHKnownHosts

_TRANSIENT = (ConnectionError, TimeoutError)
_ALL_FAILED = re.compile(r"\[Errno ([0-9]+)\]")  # asyncio's summary where a name has several addresses


class HostUnreachable(HostLost):
    """A host that could not be reached. `transient`: another try may find it there."""

    def __init__(self, message: str, *, hint: str = "", transient: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.transient = transient


class LoginTarget(NamedTuple):
    """What is connected to, all settings considered.

    `keys` says in words which were offered; `trusted` are the host keys in `files`, None when any will do;
    `alias` is what known_hosts calls it; `has_jump_host`: a jump host lies between.
    """

    user: str
    host: str
    port: int
    keys: str
    seconds: float
    trusted: SSHKnownHosts | None
    files: Sequence[Path]
    alias: str | None = None
    has_jump_host: bool = False

    @property
    def known_hosts_name(self) -> str:
        """What known_hosts calls it."""
        host = self.alias or self.host
        return host if self.port == asyncssh.DEFAULT_PORT or self.alias else f"[{host}]:{self.port}"

    def __str__(self) -> str:
        return f"{self.host} port {self.port}{' (through its jump host)' if self.has_jump_host else ''}"


class LoginProgress(asyncssh.SSHClient):
    """Notes how far a connection came, for the sentence should it fail."""

    connection: SSHClientConnection | None = None
    offered: SSHKey | None = None

    def connection_made(self, conn: SSHClientConnection) -> None:
        """Something accepted the connection."""
        self.connection = conn

    def validate_host_public_key(self, host: str, addr: str, port: int, key: SSHKey) -> bool:
        """The key is not among the trusted ones; it is refused, and shown."""
        self.offered = key
        return False


def explain(error: Exception, target: LoginTarget, seen: LoginProgress) -> HostUnreachable:
    """The sentence, and whether to try again."""
    for kinds, sentence in _SENTENCES:
        if isinstance(error, kinds):
            return sentence(error, target, seen)
    return HostUnreachable(
        f"{target} closed the connection during login: {_shorten(error)}", hint="see the log of its sshd"
    )


def explain_unusable(error: Exception, key: str | None) -> HostUnreachable:
    """The key, the ssh_config or the jump host cannot be used at all."""
    if isinstance(error, asyncssh.KeyEncryptionError) or "assphrase" in str(error):
        hint = "load it into your agent with `ssh-add`, and keep its .pub file next to it"
        return HostUnreachable(f"the key {key} has a passphrase, which cannot be entered here", hint=hint)
    if isinstance(error, asyncssh.KeyImportError):
        return HostUnreachable(f"the key {key} cannot be used: {error}", hint="give a private key file")
    if isinstance(error, OSError):
        return HostUnreachable(
            f"{error.filename} cannot be read: {error.strerror}", hint="give the right file"
        )
    return HostUnreachable(
        f"the settings for SSH cannot be used: {error}", hint="fix ssh_config or the jump host"
    )


def explain_loss(host: str, error: Exception, patience: float) -> HostLost:
    """What to say when the connection to a host broke; it had so many seconds to answer."""
    if "keepalive" in str(error):
        why = f"it has not answered for {patience:g} s"
    elif isinstance(error, asyncssh.ConnectionLost):
        why = "it ended the connection"
    else:
        why = _shorten(error)
    hint = "check its network and its sshd; its processes end by themselves once they lose contact"
    return HostLost(f"host {host} is lost: {why}", hint=hint)


def _explain_network(error: OSError, target: LoginTarget, _: LoginProgress) -> HostUnreachable:
    if isinstance(error, socket.gaierror):
        hint = "check its spelling; the name must be in DNS, in /etc/hosts, or have a HostName in ssh_config"
        again = error.errno == socket.EAI_AGAIN
        return HostUnreachable(
            f"the name {target.host!r} is not known ({error.strerror})", hint=hint, transient=again
        )
    reason = _reason(error)
    if isinstance(error, ConnectionRefusedError) or "refused" in reason:
        hint = "no SSH server is listening there: start sshd, or give the right port"
        return HostUnreachable(f"{target} refuses the connection", hint=hint, transient=True)
    hint = "is it up, and can this machine reach its network (VPN, jump host, firewall)?"
    return HostUnreachable(
        f"{target} cannot be reached: {reason}", hint=hint, transient=isinstance(error, _TRANSIENT)
    )


def _reason(error: OSError) -> str:
    match = _ALL_FAILED.search(str(error))
    number = error.errno or (int(match[1]) if match else 0)
    return os.strerror(number).lower() if number else str(error)


def _explain_timeout(_: Exception, target: LoginTarget, seen: LoginProgress) -> HostUnreachable:
    hint = "raise `connect_within` to give it more time"
    if seen.connection is None:
        message = f"{target} did not answer within {target.seconds:.3g} s"
        hint = f"is it up, or does a firewall drop the packets? {hint}"
    elif not seen.connection.get_extra_info("server_version"):
        message = f"{target} accepts connections, but sent no SSH greeting within {target.seconds:.3g} s"
        hint = f"is it an SSH server, and is it overloaded? {hint}"
    else:
        message = f"the login to {target} did not complete within {target.seconds:.3g} s"
    return HostUnreachable(message, hint=hint, transient=True)


def _explain_permission(_: Exception, target: LoginTarget, __: LoginProgress) -> HostUnreachable:
    hint = (
        f"is the user right? `ssh-copy-id -p {target.port} {target.user}@{target.host}` installs your key "
        "there; one with a passphrase must be in your agent (`ssh-add`)"
    )
    return HostUnreachable(f"{target} rejected {target.user!r} with {target.keys}", hint=hint)


def _explain_jump(error: asyncssh.ChannelOpenError, target: LoginTarget, _: LoginProgress) -> HostUnreachable:
    again = any(word in error.reason.lower() for word in ("refused", "timed out"))
    hint = "the jump host must reach it by that name and port"
    return HostUnreachable(f"{target} cannot be reached: {error.reason}", hint=hint, transient=again)


def _explain_host_key(error: Exception, target: LoginTarget, seen: LoginProgress) -> HostUnreachable:
    files = ", ".join(map(str, target.files)) or "no known_hosts file"
    if seen.offered is None:
        return HostUnreachable(f"{target}: {error}", hint=f"looked in {files}")
    shown, port = _fingerprint(seen.offered), target.port
    if known := _trusted_keys(target, seen):
        hint = (
            "the connection may be intercepted, or the host was reinstalled. If you know that it was: "
            f"`ssh-keygen -R '{target.known_hosts_name}'`, then log in once with ssh"
        )
        listed = ", ".join(map(_fingerprint, known))
        return HostUnreachable(
            f"the host key of {target} has changed: it presents {shown}, but {listed} is known", hint=hint
        )
    hint = (
        f"looked in {files}. Compare the fingerprint with the host's own, then log in once with "
        f"`ssh -p {port} {target.user}@{target.host}`; in a network that you trust, "
        f"`ssh-keyscan -p {port} {target.host} >> ~/.ssh/known_hosts` also works"
    )
    return HostUnreachable(f"the host key of {target} is not known: {shown}", hint=hint)


def _trusted_keys(target: LoginTarget, seen: LoginProgress) -> Sequence[SSHKey]:
    peer = seen.connection.get_extra_info("peername") if seen.connection else None
    address = peer[0] if peer and not target.has_jump_host else ""
    port = target.port if target.port != asyncssh.DEFAULT_PORT else None
    if target.trusted is None:
        return []
    return target.trusted.match(target.alias or target.host, address, port)[0]


def _fingerprint(key: SSHKey) -> str:
    return f"{key.get_algorithm()} {key.get_fingerprint()}"


def _explain_closed(_: Exception, target: LoginTarget, __: LoginProgress) -> HostUnreachable:
    hint = "its sshd may be overloaded (MaxStartups) or reject this address; see its log"
    return HostUnreachable(f"{target} closed the connection during the login", hint=hint, transient=True)


def _explain_algorithms(error: Exception, target: LoginTarget, _: LoginProgress) -> HostUnreachable:
    hint = "if only the type of its host key changed, run `ssh-keygen -R` and log in once with ssh"
    return HostUnreachable(
        f"{target} and this client have no algorithm in common: {_shorten(error)}", hint=hint
    )


def _explain_not_ssh(error: Exception, target: LoginTarget, _: LoginProgress) -> HostUnreachable:
    return HostUnreachable(
        f"the server at {target} does not speak SSH: {_shorten(error)}", hint="check the port"
    )


def _shorten(error: Exception) -> str:
    return str(error)[:300]


# In this order: a time-out and a reset are OSErrors too.
_SENTENCES: tuple[
    tuple[type[Exception] | tuple[type[Exception], ...], Callable[..., HostUnreachable]], ...
] = (
    (asyncssh.HostKeyNotVerifiable, _explain_host_key),
    (asyncssh.PermissionDenied, _explain_permission),
    (asyncssh.ChannelOpenError, _explain_jump),
    (TimeoutError, _explain_timeout),
    ((asyncssh.ConnectionLost, ConnectionResetError, BrokenPipeError), _explain_closed),
    (asyncssh.KeyExchangeFailed, _explain_algorithms),
    ((asyncssh.ProtocolError, asyncssh.ProtocolNotSupported), _explain_not_ssh),
    (OSError, _explain_network),
)
