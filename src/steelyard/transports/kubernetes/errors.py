"""What an API server answers when it does not do what was asked: statuses in, sentences for people out."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from typing import Any

import aiohttp

from steelyard.errors import HostError
from steelyard.printable import make_one_line

_MOST = 400
_TRANSIENT = frozenset({0, 429, 500, 502, 503, 504})
_ROLE = "docs/how-to/kubernetes.md has the least Role; `steelyard doctor --site kubernetes` tries each verb"
_HINTS = {
    401: "log in again as you do for kubectl; `kubectl auth whoami` shows who the cluster takes you for",
    403: _ROLE,
    404: "check the namespace and the names in the site's options",
    409: "something of this name exists already; `steelyard clean` removes what dead runs left",
    422: "check the site's options, `pod` above all",
    429: "the API server limits requests; wait a minute, then try again",
}


class ClusterError(HostError):
    """The API server did not do what was asked. `status` is its HTTP status; 0 where it did not answer."""

    def __init__(self, message: str, *, hint: str = "", status: int = 0, reason: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status, self.reason = status, reason

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return self.status in _TRANSIENT


def explain_answer(status: int, content: bytes, what: str, server: str) -> ClusterError:
    """The sentence for an answer that is no success. `what` was asked for: `create jobs`."""
    document = parse_status(content)
    said = str(document.get("message") or "")
    words = make_one_line(said)[:_MOST] or f"HTTP status {status}"
    if status == 401:
        message = f"{server} does not accept the credentials; a token may have expired"
    elif status >= 500:
        message = f"{server} cannot {what} at present: {words}"
    else:
        message = f"cannot {what}: {words}"
    hint = _HINTS.get(status, "see the logs of the API server" if status >= 500 else "")
    if status == 403 and "is forbidden: User" not in said:
        hint = "a policy or a quota of the namespace refuses it; its administrator can say which"
    return ClusterError(message, hint=hint, status=status, reason=str(document.get("reason") or ""))


def parse_status(content: bytes) -> Mapping[str, Any]:
    """A `Status` object, as far as it can be read."""
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def explain_silence(error: Exception, server: str, seconds: float) -> ClusterError:
    """Why no answer came at all."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        hint = "the `certificate-authority` of its cluster in the kubeconfig must have signed its certificate"
        return ClusterError(f"{server} cannot be trusted: {_describe_distrust(error)}", hint=hint)
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        message = f"{server} did not answer within {seconds:g} s"
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        message = f"the name in {server} is not known"
    else:
        message = f"{server} cannot be reached: {_describe_silence(error)}"
    return ClusterError(
        message, hint="is it up, and does `kubectl version` reach it from here (VPN, proxy, firewall)?"
    )


def _describe_silence(error: Exception) -> str:
    """In the system's words where it has any; aiohttp's name its own objects."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return make_one_line(str(error) or type(error).__name__)[:_MOST]


def _describe_distrust(error: Exception) -> str:
    """In the words of OpenSSL's check where it has any."""
    cause = getattr(error, "certificate_error", error)
    return make_one_line(getattr(cause, "verify_message", "") or str(cause))[:_MOST]
