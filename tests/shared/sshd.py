"""A real sshd on a loopback port, with keys made for one test."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from loopback import free_port
from patience import until
from steelyard.transports.ssh.login import Login

SSHD = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")
ME = getpass.getuser()
# Root's sshd needs /run/sshd, which its start-up script makes: here in a /run that nobody else sees.
_RUN = 'mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$@"'
_OWN_RUN = ("unshare", "-m", "sh", "-c", _RUN, "sh") if os.geteuid() == 0 else ()


def need_sshd() -> str:
    """Where sshd is; skips the test where it is not."""
    if SSHD is None or not shutil.which("ssh-keygen"):
        pytest.skip("no sshd or ssh-keygen is installed (apt: openssh-server, openssh-client)")
    return SSHD


def make_key(path: Path, *options: str) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path), *options], check=True)
    return path


class Sshd:
    """`extra` are more lines of sshd_config. It lets in whoever holds `key`."""

    def __init__(self, folder: Path, *extra: str, host: str = "127.0.0.1") -> None:
        self.program, self.folder, self.host = need_sshd(), folder, host
        self.port, self.extra = free_port(), extra
        folder.mkdir(parents=True, exist_ok=True)
        self.host_key, self.key = make_key(folder / "host_key"), make_key(folder / "key")
        (folder / "authorized").write_text((folder / "key.pub").read_text())
        self.known = folder / "known_hosts"
        self.trust(self.host_key)
        self._process: subprocess.Popen[bytes] | None = None

    def trust(self, key: Path) -> None:
        public = key.with_name(f"{key.name}.pub").read_text()
        self.known.write_text(f"[{self.host}]:{self.port} {public}")

    def login(self, **more: object) -> Login:
        """How to get in, with changes; nothing of the user's own settings matters."""
        login = Login(self.host, ME, self.port, str(self.key), None, str(self.known), "none", agent=False)
        return replace(login, **more)  # type: ignore[arg-type]

    def start(self) -> None:
        lines = [
            f"Port {self.port}",
            f"ListenAddress {self.host}",
            f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {self.folder}/authorized",
            "UsePAM no",
            "StrictModes no",
            "PidFile none",
            "PasswordAuthentication no",
            *self.extra,
        ]
        (self.folder / "config").write_text("\n".join(lines) + "\n")
        argv = [*_OWN_RUN, self.program, "-D", "-e", "-f", str(self.folder / "config")]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._wait_for_port()

    def _wait_for_port(self) -> None:
        sshd = self._process
        assert sshd

        def there() -> bool:
            with socket.socket() as probe:
                return sshd.poll() is not None or probe.connect_ex((self.host, self.port)) == 0

        assert until(there), (self.folder / "log").read_text()
        assert sshd.poll() is None, (self.folder / "log").read_text()

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Sshd:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
