"""Passwords of lesser roles of a service: they follow from its own, and tell nothing of it."""

from __future__ import annotations

import hashlib
import hmac


def derive_password(role: str, password: str) -> str:
    """The password of a role, in hexadecimal digits."""
    return hmac.new(password.encode(), role.encode(), hashlib.sha256).hexdigest()
