"""The account of an object gateway's clients. Pure.

`radosgw-admin user create` takes secrets in its arguments, where everybody on the host can read them; an
account that is put as a whole is read from a file.

Source: https://docs.ceph.com/en/pacific/radosgw, "Admin guide", and what `radosgw-admin metadata get user:…`
prints.
"""

from __future__ import annotations

import json
from typing import Literal

from steelyard.plugin import derive_password
from steelyard.services.ceph.keys import USER

ACCOUNT_FILE, REGION = "account.json", "us-east-1"
SUBUSER = f"{USER}:swift"
AUTH_PATH = "/auth/v1.0"
"""Where clients of Swift log in."""
PUT_ACCOUNT = 'exec radosgw-admin -c "$1" -n "$2" metadata put "user:$3" < "$4" > /dev/null'


def access_key(password: str) -> str:
    """Of S3; it follows from the run's password, and tells nothing of it."""
    return derive_password("rgw access key", password)[:20].upper()


def secret_key(password: str) -> str:
    """Of both."""
    return derive_password("rgw secret key", password)[:40]


def account(face: Literal["s3", "swift"], password: str) -> str:
    """The one account, which has a key for what its clients speak."""
    secret = secret_key(password)
    user = {
        "user_id": USER,
        "display_name": USER,
        "email": "",
        "suspended": 0,
        "max_buckets": 100_000,
        "subusers": [],
        "keys": [],
        "swift_keys": [],
        "caps": [],
        "op_mask": "read, write, delete",
        "type": "rgw",
    }
    if face == "s3":
        user["keys"] = [{"user": USER, "access_key": access_key(password), "secret_key": secret}]
    else:
        user["subusers"] = [{"id": SUBUSER, "permissions": "full-control"}]
        user["swift_keys"] = [{"user": SUBUSER, "secret_key": secret}]
    return json.dumps({"key": f"user:{USER}", "ver": {"tag": "steelyard", "ver": 1}, "data": user})
