"""Which cluster a kubeconfig means, and what is said of one that cannot be used."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.transports.kubernetes.kubeconfig import find_kubeconfigs, read_access

WHOLE = """
current-context: work
contexts:
  - {name: work, context: {cluster: c1, user: u1, namespace: bench}}
  - {name: home, context: {cluster: c2, user: u2}}
clusters:
  - {name: c1, cluster: {server: "https://one.example:6443/", certificate-authority: ca.pem}}
  - {name: c2, cluster: {server: "https://two.example", insecure-skip-tls-verify: true}}
users:
  - {name: u1, user: {token: hush}}
  - {name: u2, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: [-x]}}}
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    (tmp_path / "ca.pem").write_text("an authority")
    return write(tmp_path / "config", WHOLE)


def test_the_current_context_with_paths_that_begin_beside_the_file(whole: Path) -> None:
    access = read_access(str(whole))
    assert (access.context, access.server, access.namespace) == ("work", "https://one.example:6443", "bench")
    assert access.authority == "an authority"
    assert access.user.token is not None
    assert access.user.token.get_secret_value() == "hush"
    assert "hush" not in repr(access)


def test_another_context(whole: Path) -> None:
    access = read_access(str(whole), "home")
    assert (access.server, access.namespace, access.authority) == ("https://two.example", "default", None)
    assert access.cluster.insecure_skip_tls_verify
    assert access.user.exec is not None
    assert access.user.exec.args == ("-x",)


def test_an_authority_that_stands_in_the_file(tmp_path: Path) -> None:
    data = base64.b64encode(b"inline").decode()
    text = WHOLE.replace("certificate-authority: ca.pem", f"certificate-authority-data: {data}")
    assert read_access(str(write(tmp_path / "config", text))).authority == "inline"


def test_of_several_files_the_first_to_name_a_thing_wins(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(tmp_path / "first", "current-context: home\nusers: [{name: u2, user: {token: mine}}]\n")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, (first, tmp_path / "none", whole))))
    access = read_access()
    assert access.context == "home"
    assert access.server == "https://two.example"
    assert access.user.token is not None
    assert access.user.token.get_secret_value() == "mine"
    listed = os.pathsep.join(map(str, find_kubeconfigs(None)))
    monkeypatch.delenv("KUBECONFIG")
    assert read_access(listed) == access, "who cleans up later needs no variable"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("current-context: work", "current-context: ''"), "no current context"),
        (("current-context: work", "current-context: away"), "no context 'away'; it has work, home"),
        (("cluster: c1,", "cluster: c9,"), "no cluster 'c9'"),
        (("https://one.example:6443/", "one.example"), "cluster c1 of the kubeconfig .* server"),
        (("ca.pem", "gone.pem"), "certificate-authority gone.pem .* No such file"),
        (("{token: hush}", "{as: root}"), "impersonates another"),
        (("{token: hush}", "{auth-provider: {name: gcp}}"), "uses an auth-provider"),
        (("{token: hush}", "{token: [hush]}"), "user u1 .*: token is missing or malformed"),
        (("contexts:", "contexts: ["), "is not YAML"),
        ((WHOLE, "- a list"), "is not a mapping"),
    ],
)
def test_what_cannot_be_used_is_told_without_secrets(whole: Path, change: tuple[str, str], says: str) -> None:
    write(whole, WHOLE.replace(*change))
    with pytest.raises(UsageError, match=says) as told:
        read_access(str(whole))
    assert "hush" not in f"{told.value} {told.value.hint}"


def test_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(UsageError, match=r"no kubeconfig at ~/\.kube/config"):
        read_access()


def test_one_that_others_may_write_could_name_any_program(whole: Path) -> None:
    whole.chmod(0o666)
    with pytest.raises(UsageError, match=r"the kubeconfig .* is not used"):
        read_access(str(whole))
