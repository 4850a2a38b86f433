"""Fetching through a proxy that inspects TLS, whose certificate a user names by SSL_CERT_FILE."""

from __future__ import annotations

import re
from collections.abc import Mapping

NAMED_BY = "SSL_CERT_FILE"
_OWN = ("PIP_CERT", "CARGO_HTTP_CAINFO")
"""What pip and cargo call the same file."""
_UNKNOWN = re.compile(
    r"certificate.verify.failed|self.signed.certificate|unable to get local issuer|UnknownIssuer"
    r"|PKIX path building failed|SSL certificate problem|SSL.*certificate",
    re.IGNORECASE,
)


def certificate_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which all that fetches trusts that certificate, as far as they are not set."""
    file = environment.get(NAMED_BY)
    return {name: file for name in _OWN if name not in environment} if file else {}


def advice(said: str) -> str:
    """What to do about a message that says that a certificate is not known; empty for any other."""
    if not _UNKNOWN.search(said):
        return ""
    return (
        "a certificate is not signed by a trusted authority. Behind a proxy that inspects TLS, set "
        f"{NAMED_BY} to a file"
        " of all trusted certificates, including the proxy's, such as /etc/ssl/certs/ca-certificates.crt once"
        " the administrator has added it; for Maven, set MAVEN_OPTS=-Djavax.net.ssl.trustStore=FILE"
    )
