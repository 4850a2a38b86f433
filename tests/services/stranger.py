"""What a stranger on the same machine can say to a ring's ports, and what he hears: prints it as JSON.

`stranger.py ADDRESS STORAGE_PORT JMX_PORT CQL_PORT`, run as an account of his own.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import sys
import tempfile
import zlib

from steelyard.services.kit.certificates import Authority

WITHIN = 300  # seconds
MAGIC = 0xCA552DFA  # of Cassandra's messages between nodes, HandshakeProtocol.java
JRMI = b"JRMI\x00\x02\x4b"  # Java RMI specification, 10.2.1: the stream protocol; 4e says welcome
STARTUP = b"\x04\x00\x00\x01\x01\x00\x00\x00\x16\x00\x01\x00\x0bCQL_VERSION\x00\x053.0.0"


def initiate() -> bytes:
    """How a node of version 4 or 5 begins to talk to another, unless it is told to use TLS."""
    flags = 13 << 24 | 12 << 16 | 12 << 8 | 1  # messaging versions, and small messages
    said = struct.pack(">IIB4sH", MAGIC, flags, 6, socket.inet_aton("127.0.0.77"), 7000)
    return said + struct.pack(">I", zlib.crc32(said, zlib.crc32(b"\xfa\x2d\x55\xca")))


def heard_plain(address: str, port: int, said: bytes) -> str:
    """The first bytes of an answer, in hex."""
    with socket.create_connection((address, port), WITHIN) as peer:
        peer.sendall(said)
        try:
            return peer.recv(12).hex()
        except ConnectionError:
            return ""


def heard_encrypted(address: str, port: int, said: bytes, identity: str | None = None) -> str:
    """The same by TLS, with a certificate or none; or how it was refused."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(identity or "")
        file.flush()
        if identity:
            context.load_cert_chain(file.name)
    with socket.create_connection((address, port), WITHIN) as peer:
        try:
            with context.wrap_socket(peer, server_hostname=address) as inside:
                inside.sendall(said)
                return inside.recv(12).hex() or "refused"
        except OSError as error:  # an alert of TLS, which may get lost where the connection is cut
            return f"refused: {error}"


def main(address: str, storage: int, jmx: int, cql: int) -> None:
    """Try all three ports, in every way that needs no secret."""
    forged = Authority().issue_identity(address).pem
    heard = {"cql": heard_plain(address, cql, STARTUP)}
    for name, port, said in (("storage", storage, initiate()), ("jmx", jmx, JRMI)):
        heard[f"{name} plain"] = heard_plain(address, port, said)
        heard[f"{name} without"] = heard_encrypted(address, port, said)
        heard[f"{name} forged"] = heard_encrypted(address, port, said, forged)
    print(json.dumps(heard))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
