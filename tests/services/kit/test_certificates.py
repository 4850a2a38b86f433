"""Certificates of a deployment: who is let in by them, and who is not, by Python's own TLS."""

from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.services.kit.certificates import Authority, Identity, is_encrypted


def server(authority: Authority, identity: Identity, place: Path) -> ssl.SSLContext:
    """One that asks for a certificate, and is strict about it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode, context.verify_flags = ssl.CERT_REQUIRED, ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=authority.certificate)
    return with_identity(context, identity, place / "server.pem")


def client(authority: Authority, identity: Identity | None, place: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.certificate)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return with_identity(context, identity, place / "client.pem") if identity else context


def with_identity(context: ssl.SSLContext, identity: Identity, path: Path) -> ssl.SSLContext:
    path.write_text(identity.pem)
    context.load_cert_chain(path)
    return context


def handshake(serving: ssl.SSLContext, calling: ssl.SSLContext, name: str) -> None:
    """In memory: each side answers what the other said, until both are content."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = calling.wrap_bio(back, there, server_hostname=name)
    other = serving.wrap_bio(there, back, server_side=True)
    for _ in range(3):
        for side in (one, other):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    other.write(b"welcome")
    assert one.read() == b"welcome"


@pytest.mark.parametrize(
    ("addresses", "name"),
    [
        (("127.0.0.3",), "127.0.0.3"),
        (("db", "10.0.0.7"), "db"),
        (("db", "10.0.0.7"), "10.0.0.7"),
        (("::1",), "::1"),
    ],
)
def test_a_server_and_its_own_deployment_know_each_other(
    tmp_path: Path, addresses: tuple[str, ...], name: str
) -> None:
    authority = Authority()
    serving = server(authority, authority.issue_identity(*addresses), tmp_path)
    handshake(serving, client(authority, authority.issue_identity(), tmp_path), name)


def test_nobody_else_is_let_in(tmp_path: Path) -> None:
    authority, stranger = Authority(), Authority()
    serving = server(authority, authority.issue_identity("127.0.0.3"), tmp_path)
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        handshake(serving, client(authority, None, tmp_path), "127.0.0.3")
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
        handshake(serving, client(authority, stranger.issue_identity("127.0.0.3"), tmp_path), "127.0.0.3")


def test_no_other_server_is_believed(tmp_path: Path) -> None:
    authority, stranger = Authority(), Authority()
    calling = client(authority, authority.issue_identity(), tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
        handshake(server(authority, stranger.issue_identity("127.0.0.3"), tmp_path), calling, "127.0.0.3")
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        handshake(server(authority, authority.issue_identity("127.0.0.4"), tmp_path), calling, "127.0.0.3")


def test_who_was_signed_can_sign_nobody(tmp_path: Path) -> None:
    """A key that leaks from one host makes no further nodes."""
    from cryptography import x509

    authority = Authority()
    leaf = x509.load_pem_x509_certificate(authority.issue_identity("127.0.0.1").certificate.encode())
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not leaf.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_a_key_is_in_no_text_that_is_shown() -> None:
    identity = Authority().issue_identity("127.0.0.1")
    assert "PRIVATE KEY" not in f"{identity!r}{identity}"
    assert identity.key.startswith("-----BEGIN PRIVATE KEY-----\n")
    assert identity.pem.count("-----BEGIN ") == 2


@pytest.mark.parametrize(
    ("asked", "addresses", "expected"),
    [
        (None, ["127.0.0.1", "127.0.0.2"], False),
        (None, ["::1"], False),
        (None, ["127.0.0.1", "10.0.0.2"], True),
        (None, ["localhost"], True),
        (True, ["127.0.0.1"], True),
        (False, ["10.0.0.1"], False),
    ],
)
def test_clients_are_encrypted_where_it_leaves_a_host(
    asked: bool | None, addresses: list[str], expected: bool
) -> None:
    assert is_encrypted(asked, addresses) is expected


def test_it_is_loaded_where_it_is_used() -> None:
    said = "import sys, steelyard.services.kit.certificates; print('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
