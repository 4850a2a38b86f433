"""Tokens and certificates, from the kubeconfig and from its exec plug-in; and how a server is believed."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kube_cluster import KubeCluster
from steelyard.errors import HostError
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.errors import ClusterError
from steelyard.transports.kubernetes.kubeconfig import read_access


def list_pods(kubeconfig: Path, times: int = 1) -> list[Any]:
    async def ask() -> list[Any]:
        async with ApiServer.open(read_access(str(kubeconfig))) as server:
            return [await server.list("pods") for _ in range(times)]

    return asyncio.run(ask())


def plugin(folder: Path, script: str, **more: Any) -> dict[str, Any]:
    program = folder / "login"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": "./login", "interactiveMode": "Never", **more}}


def credential(**status: str) -> str:
    return f"echo '{json.dumps({'kind': 'ExecCredential', 'status': status})}'"


def test_a_token_of_the_file(cluster: KubeCluster, tmp_path: Path) -> None:
    assert list_pods(cluster.write_kubeconfig(tmp_path / "config")) == [[]]


def test_a_token_that_is_not_accepted_is_told_and_not_shown(cluster: KubeCluster, tmp_path: Path) -> None:
    with pytest.raises(
        ClusterError, match="does not accept the credentials; a token may have expired"
    ) as told:
        list_pods(cluster.write_kubeconfig(tmp_path / "config", token="wrong-one"))
    assert told.value.status == 401
    assert "wrong-one" not in f"{told.value} {told.value.hint}"


def test_a_token_file_is_read_anew(cluster: KubeCluster, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret-token\n")
    kubeconfig = cluster.write_kubeconfig(tmp_path / "config", tokenFile="token")

    async def ask() -> None:
        async with ApiServer.open(read_access(str(kubeconfig))) as server:
            await server.list("pods")
            cluster.behaviour.tokens = {"next"}
            (tmp_path / "token").write_text("next\n")
            await server.list("pods")

    asyncio.run(ask())


def test_a_plugin_is_asked_once_and_told_what_for(cluster: KubeCluster, tmp_path: Path) -> None:
    script = f'echo "$KUBERNETES_EXEC_INFO $1 $MORE" >>{tmp_path}/asked; {credential(token="secret-token")}'
    more = {"args": ["word"], "env": [{"name": "MORE", "value": "x"}], "provideClusterInfo": True}
    kubeconfig = cluster.write_kubeconfig(tmp_path / "config", **plugin(tmp_path, script, **more))
    assert list_pods(kubeconfig, times=2) == [[], []]
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert asked.endswith(" word x")
    info = json.loads(asked.removesuffix(" word x"))
    assert info["spec"] == {
        "interactive": False,
        "cluster": {"server": cluster.url, "insecure-skip-tls-verify": False},
    }


def test_a_plugin_is_asked_again_when_its_token_expires_or_is_refused(
    cluster: KubeCluster, tmp_path: Path
) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    script = f"echo >>{tmp_path}/asked; {credential(token='secret-token', expirationTimestamp=soon)}"
    kubeconfig = cluster.write_kubeconfig(tmp_path / "config", **plugin(tmp_path, script))
    list_pods(kubeconfig, times=2)
    assert (tmp_path / "asked").read_text() == "\n" * 2
    (tmp_path / "asked").unlink()
    first_wrong = (
        f"[ -e {tmp_path}/asked ] && {credential(token='secret-token')} || {credential(token='old')}"
    )
    plugin(tmp_path, f"{first_wrong}; echo >>{tmp_path}/asked")
    assert list_pods(kubeconfig) == [[]]
    assert (tmp_path / "asked").read_text() == "\n" * 2


@pytest.mark.parametrize(
    ("script", "more", "says"),
    [
        ("echo no session >&2; exit 3", {}, "failed with code 3: no session"),
        ("echo secret-rubbish", {}, "printed no credentials"),
        ("echo '[]'", {}, "printed no credentials"),
        (credential(), {}, "printed no credentials"),
        ("true", {"command": "./absent"}, "cannot be started: No such file"),
        ("true", {"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "speaks .*v1alpha1"),
        ("true", {"interactiveMode": "Always"}, "wants a terminal"),
    ],
)
def test_a_plugin_that_gives_nothing(
    cluster: KubeCluster, tmp_path: Path, script: str, more: dict[str, Any], says: str
) -> None:
    with pytest.raises(HostError, match=says) as told:
        list_pods(cluster.write_kubeconfig(tmp_path / "config", **plugin(tmp_path, script, **more)))
    assert "secret" not in f"{told.value} {told.value.hint}"


def test_the_api_server_is_away(cluster: KubeCluster, tmp_path: Path) -> None:
    cluster.behaviour.is_away = True
    with pytest.raises(ClusterError, match="cannot be reached: Server disconnected") as told:
        list_pods(cluster.write_kubeconfig(tmp_path / "config"))
    assert told.value.is_transient


def test_nobody_listens_where_the_api_server_should(cluster: KubeCluster, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        server = f"https://127.0.0.1:{closed.getsockname()[1]}"
    path = cluster.write_kubeconfig(tmp_path / "config")
    path.write_text(path.read_text().replace(cluster.url, server))
    with pytest.raises(ClusterError) as told:
        list_pods(path)
    assert told.value.message == f"the API server {server} cannot be reached: Connection refused"


def test_what_may_not_be_done_is_told_with_the_role(cluster: KubeCluster, tmp_path: Path) -> None:
    cluster.behaviour.denied.add(("list", "pods"))
    with pytest.raises(ClusterError, match='cannot list resource "pods"') as told:
        list_pods(cluster.write_kubeconfig(tmp_path / "config"))
    assert "kubernetes.md" in told.value.hint


# TLS


class Authority:
    """A certificate authority, and the certificates that it signs."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self.certificate = self._sign(self.name, self.key, x509.BasicConstraints(ca=True, path_length=None))

    def issue(self, path: Path, name: str) -> Path:
        """A certificate and its key, in one file."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        path.write_bytes(pem(self._sign(subject, key, names)) + private(key))
        return path

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: Any) -> x509.Certificate:
        begin = datetime.now(UTC) - timedelta(hours=1)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self.name)
        builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(begin).not_valid_after(begin + timedelta(days=1))
        return builder.add_extension(extension, critical=False).sign(self.key, hashes.SHA256())


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def private(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def ask_over_tls(tmp_path: Path, cluster_facts: dict[str, Any], user: dict[str, Any]) -> str:
    """Who the server takes us for: the common name of our certificate."""
    authority = Authority()
    (tmp_path / "ca.pem").write_bytes(pem(authority.certificate))
    (tmp_path / "other.pem").write_bytes(pem(Authority().certificate))
    authority.issue(tmp_path / "client.pem", "alice")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca.pem"))
    tls.load_cert_chain(authority.issue(tmp_path / "server.pem", "kube.example"))
    tls.verify_mode = ssl.CERT_OPTIONAL

    async def answer(request: web.Request) -> web.Response:
        assert request.transport
        shown = request.transport.get_extra_info("ssl_object").getpeercert() or {}
        names = [value for part in shown.get("subject", ()) for _, value in part]
        return web.json_response({"items": [{"name": name} for name in names]})

    async def ask() -> str:
        app = web.Application()
        app.add_routes([web.get("/{path:.*}", answer)])
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        document = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port}", **cluster_facts}}],
            "users": [{"name": "u", "user": user}],
        }
        (tmp_path / "config").write_text(json.dumps(document))
        (tmp_path / "config").chmod(0o600)
        try:
            async with ApiServer.open(read_access(str(tmp_path / "config"))) as server:
                return ",".join(each["name"] for each in await server.list("pods"))
        finally:
            await runner.cleanup()

    return asyncio.run(ask())


TRUSTED = {"certificate-authority": "ca.pem", "tls-server-name": "kube.example"}
PAIR = {"client-certificate": "client.pem", "client-key": "client.pem"}


def test_a_client_certificate(tmp_path: Path) -> None:
    assert ask_over_tls(tmp_path, TRUSTED, PAIR) == "alice"


def test_without_one_nobody(tmp_path: Path) -> None:
    assert ask_over_tls(tmp_path, TRUSTED, {}) == ""


def test_a_server_signed_by_another_is_not_trusted(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="cannot be trusted: certificate signature failure\n"):
        ask_over_tls(tmp_path, TRUSTED | {"certificate-authority": "other.pem"}, PAIR)


def test_nor_one_of_another_name(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"cannot be trusted: IP address mismatch.* '127\.0\.0\.1'\.\n"):
        ask_over_tls(tmp_path, {"certificate-authority": "ca.pem"}, PAIR)


def test_unless_nothing_is_to_be_checked(tmp_path: Path) -> None:
    assert ask_over_tls(tmp_path, {"insecure-skip-tls-verify": True}, PAIR) == "alice"
