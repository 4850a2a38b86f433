"""64 SSH hosts on loopback for measuring: a few sshds, each on 16 addresses of its own."""

from __future__ import annotations

import getpass
import ipaddress
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from scripts.ports import draw_ports

from bench.process import NotMeasured, run
from steelyard.transports.namespaces.holders import find_sshd
from steelyard.transports.ssh.login import Login

OF_ONE = 16  # addresses; OpenSSH's sshd listens on no more (MAX_LISTEN_SOCKS in its sshd.c)
FIRST = ipaddress.IPv4Address("127.77.0.1")
UP_WITHIN = 10.0
# Root's sshd needs /run/sshd, which its start-up script makes: here in a /run that nobody else sees. And what
# root's own shell reads at its start, .bashrc say, is not what is to be measured.
_BECOME = r"""set -e
mount -t tmpfs tmpfs /run
mkdir -m 755 /run/sshd
sed 's|^\(root:.*\):[^:]*$|\1:/bin/sh|' /etc/passwd >/run/passwd
mount --bind /run/passwd /etc/passwd
exec "$@"
"""
_OWN_RUN = ("unshare", "-m", "sh", "-c", _BECOME, "sh") if os.geteuid() == 0 else ()


class Fleet(NamedTuple):
    """So many addresses, a port that an sshd serves on each, and the files to get in with."""

    addresses: tuple[str, ...]
    port: int
    key: Path
    known: Path
    settings: Path

    def logins(self) -> list[Login]:
        """How we get in."""
        user, key, known = getpass.getuser(), str(self.key), str(self.known)
        return [
            Login(address, user, self.port, key, known_hosts=known, config="none", agent=False)
            for address in self.addresses
        ]


@contextmanager
def fleet(folder: Path, count: int) -> Iterator[Fleet]:
    """So many hosts for as long as the block lasts. Raises NotMeasured where there is no sshd."""
    program = find_sshd()
    if program is None or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        raise NotMeasured("no sshd, ssh or ssh-keygen is installed (apt: openssh-server openssh-client)")
    addresses = tuple(str(FIRST + number) for number in range(count))
    made = Fleet(addresses, next(draw_ports()), folder / "key", folder / "known", folder / "ssh_config")
    _prepare(made, folder)
    with ExitStack() as stack:
        for first in range(0, count, OF_ONE):
            stack.enter_context(_sshd(program, folder, made, addresses[first : first + OF_ONE]))
        for address in addresses:
            _wait_for(address, made.port, folder)
        yield made


def _prepare(made: Fleet, folder: Path) -> None:
    for name in ("key", "host_key"):
        run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)))
    public = (folder / "host_key.pub").read_text()
    made.known.write_text("".join(f"[{address}]:{made.port} {public}" for address in made.addresses))
    made.settings.write_text(
        f"Port {made.port}\nIdentityFile {made.key}\nIdentitiesOnly yes\nUserKnownHostsFile {made.known}\n"
        "GlobalKnownHostsFile none\nPasswordAuthentication no\nBatchMode yes\nLogLevel ERROR\n"
    )


@contextmanager
def _sshd(program: str, folder: Path, made: Fleet, addresses: Sequence[str]) -> Iterator[None]:
    settings = folder / f"sshd-{addresses[0]}"
    settings.write_text(
        f"Port {made.port}\n" + "".join(f"ListenAddress {address}\n" for address in addresses) + ""
        f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/key.pub\nUsePAM no\nUseDNS no\n"
        "StrictModes no\nPidFile none\nPasswordAuthentication no\nPrintMotd no\nLogLevel ERROR\n"
        "MaxStartups 200\n"
    )
    argv = (*_OWN_RUN, program, "-D", "-e", "-f", str(settings))
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(UP_WITHIN)
        process.kill()
        process.wait()


def _wait_for(address: str, port: int, folder: Path) -> None:
    deadline = time.monotonic() + UP_WITHIN
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((address, port)) == 0:
                return
        time.sleep(0.01)
    raise NotMeasured(f"no sshd at {address}:{port}: {(folder / 'log').read_text(errors='replace')[-400:]}")
