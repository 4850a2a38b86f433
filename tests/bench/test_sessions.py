"""`true` on SSH hosts, and the sshds that serve them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bench.process import NotMeasured
from bench.setting import Setting

from bench import sessions, sshds
from steelyard.transports.namespaces.holders import find_sshd


@pytest.fixture
def _ssh() -> None:
    if not (find_sshd() and shutil.which("ssh") and shutil.which("ssh-keygen")):
        pytest.skip("no sshd, ssh or ssh-keygen is installed (apt: openssh-server, openssh-client)")


def test_without_sshd_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sshds, "find_sshd", lambda: None)
    with pytest.raises(NotMeasured, match="openssh-server"):
        list(sessions.rows(Setting(tmp_path)))


@pytest.mark.usefixtures("_ssh")
def test_without_a_peer_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_peers", lambda _: {})
    with pytest.raises(NotMeasured, match="pdsh"):
        list(sessions.rows(Setting(tmp_path, quick=True)))


@pytest.mark.usefixtures("_ssh")
def test_peers_are_told_of_the_same_hosts(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("key", "known", "ssh_config")]
    addresses = tuple(str(sshds.FIRST + number) for number in range(64))
    assert (addresses[0], addresses[-1]) == ("127.77.0.1", "127.77.0.64")
    logins = sshds.Fleet(addresses, 2222, *files).logins()
    assert {login.port for login in logins} == {2222}
    assert [login.host for login in logins] == list(addresses)


@pytest.mark.full
@pytest.mark.usefixtures("_ssh")
def test_all_hosts_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_peers", lambda _: {"nobody": lambda: 1.0})
    sockets, agents, warm = sessions.rows(Setting(tmp_path, quick=True))
    for row in (sockets, agents, warm):
        assert len(row.ours) == 2
        assert all(seconds > 0 for seconds in row.ours)
    assert sockets.most == sessions.MOST_COLD
    assert warm.most == sessions.MOST_WARM
