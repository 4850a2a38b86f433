"""Through a proxy that inspects TLS."""

from __future__ import annotations

import pytest

from steelyard.tools.certificates import advice, certificate_variables


def test_one_variable_is_enough() -> None:
    assert certificate_variables({"SSL_CERT_FILE": "/ca.pem"}) == {
        "PIP_CERT": "/ca.pem",
        "CARGO_HTTP_CAINFO": "/ca.pem",
    }
    assert certificate_variables({"SSL_CERT_FILE": "/ca.pem", "PIP_CERT": "/own"}) == {
        "CARGO_HTTP_CAINFO": "/ca.pem"
    }
    assert certificate_variables({}) == {}


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed",
            True,
        ),
        ("invalid peer certificate: UnknownIssuer", True),
        ("PKIX path building failed: unable to find valid certification path to requested target", True),
        ("[60] SSL peer certificate or SSH remote key was not OK", True),
        ("Could not find a version that satisfies the requirement fio", False),
        ("", False),
    ],
)
def test_trouble_with_certificates_is_told_from_other_trouble(said: str, known: bool) -> None:
    assert ("SSL_CERT_FILE" in advice(said)) == known
