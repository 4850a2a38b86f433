"""Keys of cephx, Ceph's authentication: who may do what in a cluster. Pure.

All keys of a cluster follow from the run's password, and tell nothing of it; so the monitors know everybody
before they start, also daemons of hosts that join later.

Source: https://docs.ceph.com/en/pacific, "Cephx config reference" and "User management". A key is the type
of its cipher (1 is AES-128), when it was made (seconds and nanoseconds), and its length and its bytes.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping

from steelyard.plugin import derive_password

USER, ADMIN = "steelyard", "client.admin"
"""Whom clients are, without the word `client.`, and whom we are."""
_AES, _LENGTH = 1, 16
_DAEMONS: Mapping[str, Mapping[str, str]] = {
    "mon": {"mon": "allow *"},
    "mgr": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
    "osd": {"mon": "allow profile osd", "mgr": "allow profile osd", "osd": "allow *"},
    "mds": {"mon": "allow profile mds", "mgr": "allow profile mds", "osd": "allow *"},
}
_ALL = {"mon": "allow *", "mgr": "allow *", "osd": "allow *", "mds": "allow *"}
_GATEWAY = {"mon": "allow rw", "mgr": "allow rw", "osd": "allow rwx"}


def make_key(entity: str, password: str) -> str:
    """The key of somebody, as keyrings have it."""
    secret = bytes.fromhex(derive_password(f"cephx {entity}", password))[:_LENGTH]
    return base64.b64encode(struct.pack("<HIIH", _AES, 0, 0, _LENGTH) + secret).decode()


def list_capabilities(entity: str, pool: str) -> Mapping[str, str]:
    """What somebody may do: daemons their work, clients read and write one pool, or its file system."""
    kind, _, name = entity.partition(".")
    if kind != "client":
        return _DAEMONS[kind]
    if entity == ADMIN:
        return _ALL
    if name.startswith("rgw."):
        return _GATEWAY
    return {"mon": "allow r", "mds": "allow rw", "osd": f"allow rwx pool={pool}"}


def keyring(entities: Iterable[str], password: str, pool: str = "") -> str:
    """A keyring file; with a pool it says what each may do, as monitors need it to begin with."""
    lines: list[str] = []
    for entity in entities:
        lines += [f"[{entity}]", f"\tkey = {make_key(entity, password)}"]
        abilities = list_capabilities(entity, pool) if pool else {}
        lines += [f'\tcaps {kind} = "{ability}"' for kind, ability in abilities.items()]
    return "\n".join(lines) + "\n"
