"""A password as ScyllaDB takes it in its configuration: salted and hashed, never in the clear. Pure.

Source: "Unix crypt using SHA-256 and SHA-512", version 0.6 (akkadia.org/drepper/SHA-crypt.txt), the steps of
SHA-512. It is what `mkpasswd -m sha-512` makes; hosts need not have that, and Python 3.13 has no `crypt`.
"""

from __future__ import annotations

import hashlib
import secrets

_ROUNDS = 5000  # the scheme's own number, which then need not be told
_LETTERS = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def salt_password(password: str, salt: str | None = None) -> str:
    """`$6$salt$hash`. A salt of 16 letters is drawn where none is given."""
    salt = salt or "".join(secrets.choice(_LETTERS) for _ in range(16))
    return f"$6${salt}${_encode_digest(_hash(password.encode(), salt.encode()))}"


def _hash(password: bytes, salt: bytes) -> bytes:
    """Steps 1 to 21."""
    other = hashlib.sha512(password + salt + password).digest()
    first = hashlib.sha512(password + salt + _repeat_block(other, len(password)))
    left = len(password)
    while left:
        first.update(other if left & 1 else password)
        left >>= 1
    digest = first.digest()
    p = _repeat_block(hashlib.sha512(password * len(password)).digest(), len(password))
    s = _repeat_block(hashlib.sha512(salt * (16 + digest[0])).digest(), len(salt))
    for turn in range(_ROUNDS):
        odd = turn & 1
        parts = (p if odd else digest, s if turn % 3 else b"", p if turn % 7 else b"", digest if odd else p)
        digest = hashlib.sha512(b"".join(parts)).digest()
    return digest


def _repeat_block(block: bytes, length: int) -> bytes:
    """As many bytes, of a block that is repeated."""
    return (block * (length // len(block) + 1))[:length]


def _encode_digest(found: bytes) -> str:
    """Step 22: three bytes become four letters, the lowest six bits first; which three it turns around."""
    text = ""
    for place in range(21):
        three = [found[place], found[place + 21], found[place + 42]]
        turned = bytes(three[place % 3 :] + three[: place % 3])
        text += _encode_group(int.from_bytes(turned, "big"), 4)
    return text + _encode_group(found[63], 2)


def _encode_group(value: int, count: int) -> str:
    return "".join(_LETTERS[value >> 6 * place & 63] for place in range(count))
