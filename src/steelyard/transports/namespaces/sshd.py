"""An sshd in each network namespace, with keys made for one run, which no disk ever sees."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import asyncssh

from steelyard.errors import HostError
from steelyard.transports.namespaces.holders import find_sshd
from steelyard.transports.namespaces.network import NodeSetup
from steelyard.transports.ssh.login import NONE, Login

# /run is the namespace's own here, so files in it go with it; Debian's sshd needs /run/sshd. An sshd lets
# nobody in whose account is locked, as root's often is; and what root's own shell reads at its start, .bashrc
# say, is slow and changes PATH.
_LINES = r"""
mkdir -p -m 755 /run/sshd
umask 077
printf %s "$SY_HOST_KEY" >/run/steelyard/host_key
printf %s "$SY_AUTHORIZED" >/run/steelyard/authorized_keys
printf %s "$SY_CONFIG" >/run/steelyard/sshd_config
if [ -f /etc/shadow ]; then
    sed 's/^root:![^:]*/root:*/' /etc/shadow >/run/steelyard/shadow
    mount --bind /run/steelyard/shadow /etc/shadow
fi
umask 022
sed 's|^\(root:.*\):[^:]*$|\1:/bin/sh|' /etc/passwd >/run/steelyard/passwd
mount --bind /run/steelyard/passwd /etc/passwd
unset SY_HOST_KEY SY_AUTHORIZED SY_CONFIG SY_BECOME
echo ready
exec {sshd} -D -f /run/steelyard/sshd_config -o "ListenAddress=${2%/*}" -E {log} >/dev/null 2>&1
"""

_CONFIG = """
Port 22
HostKey /run/steelyard/host_key
AuthorizedKeysFile /run/steelyard/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
PidFile none
LogLevel ERROR
MaxSessions 64
MaxStartups 100:30:200
ClientAliveCountMax 3
"""

# What programs there find as they would on this machine; sshd gives a session little of its own.
_HANDED_ON = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "LANG")


class NamespaceSshd:
    """The keys of a run's namespaces, and what follows from them for a node and for its client."""

    def __init__(
        self,
        program: str,
        host: asyncssh.SSHKey,
        client: asyncssh.SSHKey,
        log: Path,
        lost_after: float,
        temporary: str | None,
    ) -> None:
        self._program, self._host, self._client, self._log = program, host, client, log
        self._lost_after, self._temporary = lost_after, temporary

    @classmethod
    def make(cls, log: Path, lost_after: float, *, temporary: str | None = None) -> Self:
        """New keys. sshd's errors go to `log`; `lost_after` is how many seconds of silence we bear.

        Programs keep temporary files in the directory `temporary`, by default in ours. Raises HostError where
        no sshd is installed.
        """
        program = check_sshd()
        host, client = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
        return cls(program, host, client, log, lost_after, temporary)

    def node_setup(self) -> NodeSetup:
        """What a node has to become."""
        lines = _LINES.replace("{sshd}", self._program).replace("{log}", '"$SY_LOG"')
        variables = {
            "SY_HOST_KEY": self._host.export_private_key().decode(),
            "SY_AUTHORIZED": self._client.export_public_key().decode(),
            "SY_CONFIG": "".join((_CONFIG, self._keepalive_line(), *_format_setenv(self._temporary))),
            "SY_LOG": str(self._log.absolute()),
        }
        return NodeSetup(lines, tuple(variables.items()))

    def _keepalive_line(self) -> str:
        # A session whose client is gone without a word ends, and with it the last that keeps a namespace.
        return f"ClientAliveInterval {max(round(self._lost_after / 2), 1)}\n"

    def login(self, address: str, connect_within: float) -> Login:
        """How to get into a node, within so many seconds."""
        return Login(
            address,
            user="root",
            port=22,
            jump=NONE,
            config=NONE,
            agent=False,
            connect_within=connect_within,
            lost_after=self._lost_after,
            private=self._client.export_private_key(),
            trusted=f"{address} {self._host.export_public_key().decode()}",
        )


def check_sshd() -> str:
    """Where sshd is. Raises HostError where none is installed."""
    program = find_sshd()
    if program is None:
        hint = "install openssh-server, or set `via: nsenter`"
        raise HostError("no sshd is installed, so namespaces cannot be reached by SSH", hint=hint)
    return program


def _format_setenv(temporary: str | None) -> Iterable[str]:
    # One line: sshd_config(5) takes the first SetEnv only.
    given = {name: os.environ.get(name, "") for name in _HANDED_ON}
    given["TMPDIR"] = temporary or given["TMPDIR"]
    words = [f'"{name}={value}"' for name, value in given.items() if value and not set(value) & set('"\n\\')]
    yield f"SetEnv {' '.join(words)}\n" if words else ""
