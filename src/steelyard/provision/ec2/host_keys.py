"""Which SSH host keys to trust of a machine that nobody has seen before.

At its first boot a machine makes its host keys, and cloud-init prints them on its console. EC2 hands that out
through its API, over TLS and to this account only: it is known whose keys they are before the first packet
goes to port 22. Not every image prints them; then only the first use is left, where whoever answers first is
trusted from then on.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import time
from typing import Any, Literal

import asyncssh

from steelyard.errors import HostError
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.errors import CloudError
from steelyard.transports.ssh.login import NONE, Login

Learnt = Literal["console", "first-use"]
_BLOCK = re.compile(r"-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----", re.DOTALL)
_KEY = re.compile(r"\b((?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp\d+) [A-Za-z0-9+/]{40,}={0,2})")


def parse_console(console: str) -> list[str]:
    """The host keys in what a machine has printed, of its last start; none as long as it has not."""
    blocks = _BLOCK.findall(console)
    return _KEY.findall(blocks[-1]) if blocks else []


async def read_console_keys(account: AwsAccount, machine: str, until: float, poll: float) -> list[str]:
    """The host keys of a machine, by its id, printed until then (`time.monotonic`). Raises HostError."""
    while True:
        console = await asyncio.to_thread(_fetch_console, account, machine)
        if keys := parse_console(console):
            return keys
        if time.monotonic() > until:
            said = "printed no SSH host keys" if console else "printed nothing"
            hint = (
                "images without cloud-init print none; `host_keys: first-use` trusts the first server that "
                "answers, and the record notes this. Older types (Xen) print late: raise `answer_within`"
            )
            raise HostError(f"its console {said}", hint=hint)
        await asyncio.sleep(poll)


def _fetch_console(account: AwsAccount, machine: str) -> str:
    """What it has printed so far; of older types of machines only what it had some minutes ago."""
    words: dict[str, Any] = {"InstanceId": machine}
    try:
        answer = account.ask("get_console_output", machine, **words, Latest=True)
    except CloudError as error:
        if error.code not in ("UnsupportedOperation", "Unsupported", "InvalidParameterCombination"):
            raise
        answer = account.ask("get_console_output", machine, **words)
    return str(answer.get("Output") or "")


async def accept_first_key(login: Login, until: float, poll: float) -> list[str]:
    """The host key that is shown by whoever answers first. Raises HostError."""
    config = () if login.config is None else [] if login.config == NONE else [login.config]
    while True:
        try:
            async with asyncio.timeout(login.connect_within):
                key = await asyncssh.get_server_host_key(login.host, login.port or (), config=config)
            if key:
                return [key.export_public_key().decode().strip()]
            why = "it presents no host key"
        except (OSError, asyncssh.Error) as error:  # a time-out is an OSError too
            why = str(error) or "no answer"
        if time.monotonic() > until:
            hint = "does a security group allow port 22, and does the image have an SSH server?"
            raise HostError(f"{login.host} does not answer over SSH: {why}", hint=hint)
        await asyncio.sleep(poll)


def format_known_hosts(keys: list[str]) -> str:
    """Lines of known_hosts for one machine alone, by whatever name ssh_config calls it."""
    return "".join(f"* {key}\n" for key in keys)


def fingerprints(keys: list[str]) -> list[str]:
    """As `ssh-keygen -l` shows them: `ssh-ed25519 SHA256:…`."""
    return [f"{kind} SHA256:{_digest(blob)}" for kind, blob, *_ in map(str.split, keys)]


def _digest(blob: str) -> str:
    raw = hashlib.sha256(base64.b64decode(blob + "=" * (-len(blob) % 4))).digest()
    return base64.b64encode(raw).decode().rstrip("=")
