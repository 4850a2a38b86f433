"""Host keys as a machine prints them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.provision.ec2.host_keys import fingerprints, format_known_hosts, parse_console

ED = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS"
EC = "ecdsa-sha2-nistp256 " + "A" * 140 + "="


def console(*keys: str, prefix: str = "") -> str:
    lines = ["-----BEGIN SSH HOST KEY KEYS-----", *keys, "-----END SSH HOST KEY KEYS-----"]
    return "".join(f"{prefix}{line}\r\n" for line in ["[ 0.0] boot", *lines, "login: "])


@pytest.mark.parametrize("prefix", ["", "[   12.25] cloud-init[612]: "])
def test_all_keys_of_the_block(prefix: str) -> None:
    assert parse_console(console(f"{EC} root@ip-10-0-0-1", f"{ED} root@ip-10-0-0-1", prefix=prefix)) == [
        EC,
        ED,
    ]


def test_none_before_the_block_is_whole() -> None:
    text = console(ED)
    assert parse_console(text[: text.index("-----END")]) == []
    assert parse_console("") == []
    assert parse_console(ED) == []  # outside of a block it may be anything, such as a user's key


def test_the_last_start_counts() -> None:
    other = ED.replace("PnAS", "PnAT")
    assert parse_console(console(ED) + console(other)) == [other]


def test_fingerprints_as_ssh_keygen_shows_them(tmp_path: Path) -> None:
    if not shutil.which("ssh-keygen"):
        pytest.skip("ssh-keygen is not installed (apt: openssh-client)")
    (tmp_path / "key.pub").write_text(ED + "\n")
    argv = ["ssh-keygen", "-l", "-f", str(tmp_path / "key.pub")]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()[1]
    assert fingerprints([ED + " a comment"]) == [f"ssh-ed25519 {shown}"]


def test_lines_of_known_hosts() -> None:
    assert format_known_hosts([ED]) == f"* {ED}\n"
