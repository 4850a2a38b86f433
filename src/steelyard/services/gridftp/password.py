"""The password of a GridFTP server, as it can take one. Pure.

Its file of passwords knows the oldest scheme of crypt(3) alone (it calls OpenSSL's `DES_crypt`): 25 turns of
DES over a block of zeros, the password as the key, of which eight letters count. With the salt `..` that is
plain DES. So the password is eight random letters, for which nobody can try all 2^48 over the network, and
the file is for the server's group alone.
"""

from __future__ import annotations

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

USER, LENGTH = "steelyard", 8
_LETTERS = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TURNS = 25
# The server looks the group up by its number, and needs one that every system has; it changes to no user.
_GROUP = 0


def passwd_line(password: str, home: str) -> str:
    """The file: the one user, whose home is the directory that is served."""
    return f"{USER}:{hash_password(password)}:{_GROUP}:{_GROUP}::{home}:/bin/sh\n"


def hash_password(password: str) -> str:
    """As `crypt(password, "..")` of the C library."""
    key = bytes(ord(letter) << 1 & 0xFF for letter in password[:LENGTH]).ljust(8, b"\0")
    turn = Cipher(TripleDES(key * 3), modes.ECB()).encryptor()  # noqa: S305 - one block, as the scheme has it
    block = bytes(8)
    for _ in range(_TURNS):
        block = turn.update(block)
    bits = int.from_bytes(block, "big") << 2
    return ".." + "".join(_LETTERS[bits >> shift & 63] for shift in range(60, -1, -6))
