"""Certificates of one deployment: an authority of its own signs who its servers are. Pure.

It signs nobody else. So a server that asks for a certificate of this authority lets in its own deployment
alone, and a client that knows the authority talks to no other server. The authority's key is in the memory of
the controller and nowhere else; those of servers go to their hosts as private files.

Source: RFC 5280, and what Java, OpenSSL and Python 3.13 ask of a certificate when they are strict.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from steelyard.services.kit.address import is_loopback

if TYPE_CHECKING:  # it takes time to load, and most runs have no use for it
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

IDENTITY, AUTHORITY = "identity.pem", "authority.pem"
"""Names of a server's files: who it is, which is secret, and who signs its deployment."""

_BEFORE, _AFTER = timedelta(hours=1), timedelta(days=400)  # clocks differ; and no run is longer


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is: a certificate, and the key that proves it, unencrypted PKCS #8. Both are PEM."""

    certificate: str
    key: str = field(repr=False)

    @property
    def pem(self) -> str:
        """Both in one file, which is as secret as the key."""
        return self.key + self.certificate


class Authority:
    """Signs certificates, with keys of the curve P-256. `certificate` is its own, as PEM: no secret."""

    def __init__(self) -> None:
        from cryptography import x509

        self._key = _make_key()
        self._name = _make_name(f"steelyard-{secrets.token_hex(8)}")
        only = x509.BasicConstraints(ca=True, path_length=0)
        signed = _sign(self._builder(self._name, self._key, only, signs=True), self._key)
        self.certificate = _encode_certificate(signed)

    def issue_files(self, address: str) -> dict[str, str]:
        """What a server at this address reads, by name."""
        return {IDENTITY: self.issue_identity(address).pem, AUTHORITY: self.certificate}

    def issue_identity(self, *addresses: str) -> Identity:
        """Of a server that clients reach at these addresses; without any, of one who only connects."""
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key, name = _make_key(), _make_name(addresses[0] if addresses else "steelyard")
        no_authority = x509.BasicConstraints(ca=False, path_length=None)
        both = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
        builder = self._builder(name, key, no_authority, signs=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
        if addresses:
            names = x509.SubjectAlternativeName([_general_name(address) for address in addresses])
            builder = builder.add_extension(names, critical=False)
        return Identity(_encode_certificate(_sign(builder, self._key)), _encode_key(key))

    def _builder(
        self, subject: x509.Name, key: EllipticCurvePrivateKey, rank: x509.BasicConstraints, *, signs: bool
    ) -> x509.CertificateBuilder:
        from cryptography import x509

        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder(subject_name=subject, issuer_name=self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BEFORE)
            .not_valid_after(now + _AFTER)
            .add_extension(rank, critical=True)
            .add_extension(_key_usage(signs=signs), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(issuer, critical=False)
        )


def is_encrypted(asked: bool | None, addresses: Iterable[str]) -> bool:
    """Whether clients talk to servers at these addresses by TLS: as asked, else where it leaves a host."""
    return not all(map(is_loopback, addresses)) if asked is None else asked


def _make_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _make_name(common: str) -> x509.Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common[:64])])


def _general_name(address: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    from cryptography import x509

    rest = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    never = dict.fromkeys((*rest, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, **never)


def _sign(builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography.hazmat.primitives.hashes import SHA256

    return builder.sign(key, SHA256())


def _encode_certificate(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _encode_key(key: EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
