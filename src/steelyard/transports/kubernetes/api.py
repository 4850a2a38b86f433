"""A cluster's API server: requests for objects, and exec streams into pods."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp

from steelyard.transports.kubernetes.credentials import Credentials
from steelyard.transports.kubernetes.errors import (
    ClusterError,
    explain_answer,
    explain_silence,
    parse_status,
)
from steelyard.transports.kubernetes.kubeconfig import ClusterAccess

ANSWER_WITHIN = 30.0
EXEC_PROTOCOL = "v5.channel.k8s.io"
"""The first in which one side can end its input alone; Kubernetes 1.30 and later speak it by default."""
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
_SILENT = (aiohttp.ClientError, OSError, TimeoutError)
Query = Mapping[str, str] | Sequence[tuple[str, str]]


class ApiServer:
    """The API server of a context: `async with ApiServer.open(access) as server`."""

    def __init__(self, access: ClusterAccess, session: aiohttp.ClientSession) -> None:
        self.access, self.namespace = access, access.namespace
        self._session, self._credentials = session, Credentials(access)
        self._proxy = access.cluster.proxy_url or _find_proxy(access.server)

    @classmethod
    @asynccontextmanager
    async def open(cls, access: ClusterAccess, namespace: str | None = None) -> AsyncIterator[Self]:
        """For as long as the block lasts; nothing is asked yet."""
        # Each exec stream is a connection of its own, as many as there are hosts and copies under way.
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, raise_for_status=False) as session:
            server = cls(access, session)
            server.namespace = namespace or access.namespace
            yield server

    def path(self, kind: str, name: str = "") -> str:
        """The path of a kind in our namespace, `pods` or `batch/v1/jobs`, or of an object of it."""
        group, _, plural = kind.rpartition("/")
        root = f"/apis/{group}" if group else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}{f'/{name}' if name else ''}"

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """An object, or a list of them. Raises ClusterError."""
        return await self._ask("GET", path, f"get {_shorten(path)}", query)

    async def list(self, kind: str, **query: str) -> list[dict[str, Any]]:
        """The objects of a kind in our namespace. Raises ClusterError."""
        content = await self._ask("GET", self.path(kind), f"list {kind}", query)
        return [dict(each) for each in content.get("items") or ()]

    async def create(self, path: str, body: Mapping[str, Any], **query: str) -> dict[str, Any]:
        """A new object. Raises ClusterError."""
        return await self._ask("POST", path, f"create {_shorten(path)}", query, body)

    async def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """An object, changed by a strategic merge patch. Raises ClusterError."""
        return await self._ask("PATCH", path, f"patch {_shorten(path)}", {}, body)

    async def delete(self, path: str, **body: Any) -> None:
        """Have an object deleted, with these DeleteOptions; it may be gone already. Raises ClusterError."""
        try:
            await self._ask("DELETE", path, f"delete {_shorten(path)}", {}, body)
        except ClusterError as error:
            if error.status != 404:
                raise

    async def _ask(
        self, method: str, path: str, what: str, query: Query, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        status, content = await self._request(method, path, query, body)
        if status == 401 and self._credentials.renew():
            status, content = await self._request(method, path, query, body)
        if not 200 <= status < 300:
            raise explain_answer(status, content, what, str(self.access))
        return dict(parse_status(content))

    async def _request(
        self, method: str, path: str, query: Query, body: Mapping[str, Any] | None
    ) -> tuple[int, bytes]:
        identity = await self._credentials.fetch()
        headers = {**identity.headers, "Accept": "application/json"}
        if method == "PATCH":
            headers["Content-Type"] = STRATEGIC_MERGE
        try:
            async with self._session.request(
                method,
                f"{self.access.server}{path}",
                params=query,
                json=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=ANSWER_WITHIN),
                allow_redirects=False,  # the token is for this server alone
                **self._way(identity.tls),
            ) as answer:
                return answer.status, await answer.read()
        except _SILENT as error:
            raise explain_silence(error, str(self.access), ANSWER_WITHIN) from error

    async def open_exec(
        self, pod: str, container: str, command: Sequence[str], *, seconds: float = ANSWER_WITHIN
    ) -> aiohttp.ClientWebSocketResponse:
        """A command in a container, with three streams. Everybody can see it: it stands in the URL.

        Raises ClusterError.
        """
        query = [("container", container), *(("command", word) for word in command)]
        query += [(stream, "true") for stream in ("stdin", "stdout", "stderr")]
        try:
            return await self._upgrade(f"{self.path('pods', pod)}/exec", query, seconds)
        except ClusterError as error:
            if error.status == 401 and self._credentials.renew():
                return await self._upgrade(f"{self.path('pods', pod)}/exec", query, seconds)
            raise

    async def _upgrade(self, path: str, query: Query, seconds: float) -> aiohttp.ClientWebSocketResponse:
        identity = await self._credentials.fetch()
        try:
            async with asyncio.timeout(seconds):
                stream: aiohttp.ClientWebSocketResponse = await self._session.ws_connect(
                    f"{self.access.server}{path}",
                    params=query,
                    headers=identity.headers,
                    protocols=(EXEC_PROTOCOL,),
                    max_msg_size=0,  # frames are as large as what a program printed at once
                    autoclose=True,
                    **self._way(identity.tls),
                )
        except aiohttp.WSServerHandshakeError as error:
            content = json.dumps({"message": f"HTTP status {error.status}"}).encode()
            raise explain_answer(
                error.status, content, f"exec in {_shorten(path)}", str(self.access)
            ) from error
        except _SILENT as error:
            raise explain_silence(error, str(self.access), seconds) from error
        if stream.protocol != EXEC_PROTOCOL:
            await stream.close()
            hint = "Kubernetes 1.30 or later is needed, and no proxy in between that changes WebSockets"
            raise ClusterError(f"{self.access} does not speak {EXEC_PROTOCOL}", hint=hint, status=400)
        return stream

    def _way(self, tls: Any) -> dict[str, Any]:
        """How to get there: what all requests have in common."""
        way: dict[str, Any] = {"proxy": self._proxy}
        if tls is not None:
            way |= {"ssl": tls, "server_hostname": self.access.cluster.tls_server_name}
        return way


def _find_proxy(server: str) -> str | None:
    """What HTTPS_PROXY and NO_PROXY say, as kubectl heeds them."""
    scheme, _, rest = server.partition("://")
    host = rest.partition("/")[0]
    return None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(scheme)


def _shorten(path: str) -> str:
    """`pods/exec` of `/api/v1/namespaces/ns/pods/name/exec`."""
    words = path.rsplit("/namespaces/", maxsplit=1)[-1].split("/")
    return "/".join(words[1:4]) or path
