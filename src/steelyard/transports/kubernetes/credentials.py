"""Who we are at a cluster: a token or a certificate, from the kubeconfig or from its exec plug-in."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.printable import make_one_line
from steelyard.transports.kubernetes.errors import ClusterError
from steelyard.transports.kubernetes.kubeconfig import ClusterAccess, ExecPlugin, decode_or_read

PLUGIN_WITHIN = 60.0
_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_MARGIN = timedelta(seconds=30)  # before a token expires


class ClusterIdentity(NamedTuple):
    """What goes with a request: headers, and for https what the connection is made with."""

    headers: Mapping[str, str]
    tls: ssl.SSLContext | None


class _Issued(NamedTuple):
    """What an exec plug-in gave."""

    token: str | None
    certificate: str | None
    key: str | None
    expires: datetime | None

    @property
    def is_fresh(self) -> bool:
        return self.expires is None or datetime.now(UTC) + _MARGIN < self.expires


class Credentials:
    """The identity of a context; what a plug-in gave is kept until it expires or is refused."""

    def __init__(self, access: ClusterAccess) -> None:
        self._access, self._plugin = access, access.user.exec
        self._issued: _Issued | None = None
        self._asking = asyncio.Lock()
        self._tls: ssl.SSLContext | None = None

    async def fetch(self) -> ClusterIdentity:
        """The identity as it is now. Raises ClusterError and UsageError."""
        async with self._asking:
            if self._plugin and not (self._issued and self._issued.is_fresh):
                self._issued, self._tls = await self._ask_plugin(self._plugin), None
            if self._tls is None and self._access.server.startswith("https:"):
                self._tls = self._make_tls()
        return ClusterIdentity(self._make_headers(), self._tls)

    def renew(self) -> bool:
        """Forget what was refused; whether there may be something better."""
        had, self._issued = self._issued, None
        return had is not None or self._access.user.token_file is not None

    def _make_headers(self) -> dict[str, str]:
        user = self._access.user
        token = user.token.get_secret_value() if user.token else None
        if user.token_file:
            token = decode_or_read(None, user.token_file, self._access.folder, "tokenFile")
        if self._issued and self._issued.token:
            token = self._issued.token
        if token:
            return {"Authorization": f"Bearer {token.strip()}"}
        if user.username and user.password:
            both = f"{user.username}:{user.password.get_secret_value()}"
            return {"Authorization": f"Basic {base64.b64encode(both.encode()).decode()}"}
        return {}

    def _make_tls(self) -> ssl.SSLContext:
        cluster = self._access.cluster
        tls = ssl.create_default_context(cadata=self._access.authority)
        # Python 3.13 demands extensions that the authorities of many clusters lack; kubectl does not.
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if cluster.insecure_skip_tls_verify:
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        certificate, key = self._find_certificate()
        if certificate and key:
            _load_pair(tls, certificate, key)
        return tls

    def _find_certificate(self) -> tuple[str | None, str | None]:
        if self._issued and self._issued.certificate:
            return self._issued.certificate, self._issued.key
        user, folder = self._access.user, self._access.folder
        data = user.client_key_data.get_secret_value() if user.client_key_data else None
        certificate = decode_or_read(
            user.client_certificate_data, user.client_certificate, folder, "client-certificate"
        )
        return certificate, decode_or_read(data, user.client_key, folder, "client-key")

    # Exec plug-ins ----------------------------------------------------------------------------------------

    async def _ask_plugin(self, plugin: ExecPlugin) -> _Issued:
        """Run it as kubectl would, without a terminal. What it prints is secret: no error shows it."""
        what = f"the exec plug-in {plugin.command} of the kubeconfig"
        if plugin.api_version not in _VERSIONS:
            raise ClusterError(f"{what} speaks {plugin.api_version}, not {_VERSIONS[0]}", hint="update it")
        if plugin.interactive_mode == "Always":
            raise ClusterError(f"{what} wants a terminal", hint="log in with kubectl, and use a token")
        code, said, complaint = await self._run(plugin, what)
        if code:
            hint = "try `kubectl get pods` with the same context; you may have to log in again"
            raise ClusterError(f"{what} failed with code {code}: {make_one_line(complaint)[:300]}", hint=hint)
        try:
            return _parse_issued(json.loads(said))
        except (ValueError, TypeError, AttributeError):
            raise ClusterError(f"{what} printed no credentials", hint="is it the right program?") from None

    async def _run(self, plugin: ExecPlugin, what: str) -> tuple[int, bytes, str]:
        more = {each.name: each.value for each in plugin.env or ()}
        environment = {**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(self._describe(plugin))}
        try:
            process = await asyncio.create_subprocess_exec(
                self._locate(plugin.command),
                *plugin.args or (),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise ClusterError(
                f"{what} cannot be started: {error.strerror}", hint=plugin.install_hint
            ) from error
        try:
            async with asyncio.timeout(PLUGIN_WITHIN):
                said, complaint = await process.communicate()
        except TimeoutError:
            raise ClusterError(f"{what} did not end within {PLUGIN_WITHIN:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, said, complaint.decode(errors="replace")

    def _locate(self, command: str) -> str:
        """A bare name is looked up on PATH; one with a slash begins in the directory of the file."""
        return str(self._access.folder / Path(command).expanduser()) if "/" in command else command

    def _describe(self, plugin: ExecPlugin) -> dict[str, Any]:
        spec: dict[str, Any] = {"interactive": False}
        if plugin.provide_cluster_info:
            cluster = self._access.cluster
            facts = {"server": cluster.server, "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify}
            authority = base64.b64encode((self._access.authority or "").encode()).decode()
            spec["cluster"] = facts | ({"certificate-authority-data": authority} if authority else {})
        return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def _parse_issued(document: Mapping[str, Any]) -> _Issued:
    status = document["status"] if document.get("kind") == "ExecCredential" else {}
    expires = status.get("expirationTimestamp")
    issued = _Issued(
        status.get("token"),
        status.get("clientCertificateData"),
        status.get("clientKeyData"),
        datetime.fromisoformat(expires.replace("Z", "+00:00")) if expires else None,
    )
    if not issued.token and not (issued.certificate and issued.key):
        raise ValueError("neither a token nor a certificate")
    return issued


def _load_pair(tls: ssl.SSLContext, certificate: str, key: str) -> None:
    """OpenSSL takes them from a file only: one that nobody else can read, and that is gone at once."""
    with tempfile.NamedTemporaryFile(prefix="steelyard-", suffix=".pem") as file:
        file.write(f"{certificate}\n{key}\n".encode())
        file.flush()
        try:
            tls.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise ClusterError(
                "the client certificate of the kubeconfig cannot be used with its key"
            ) from error
