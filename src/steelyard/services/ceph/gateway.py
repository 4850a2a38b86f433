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

ACCOUNT_FILE, LOGIN_FILE = "account.json", "login.conf"
REGION, BUCKET = "us-east-1", "steelyard"
"""Any region is right for a gateway, and clients take this one for none. The bucket is there at once."""
SUBUSER = f"{USER}:swift"
AUTH_PATH = "/auth/v1.0"
"""Where clients of Swift log in."""
PUT_ACCOUNT = f'exec radosgw-admin -c "$3" -n "$2" metadata put user:{USER} < "$1/{ACCOUNT_FILE}" > /dev/null'
# Gateways that have just begun may not have all of their pools.
MAKE_BUCKET = """
for turn in 1 2 3 4 5; do
    curl --config "$1/login.conf" --fail --silent --show-error --request PUT "$2" && exit 0; sleep 1
done
exit 1
"""
_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # SHA-256 of an empty body


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


def login(password: str, authority: str | None) -> str:
    """What curl reads to sign a request of S3; `authority` is the file with whom to believe."""
    lines = [
        f'user = "{access_key(password)}:{secret_key(password)}"',
        f'aws-sigv4 = "aws:amz:{REGION}:s3"',
        f'header = "x-amz-content-sha256: {_NOTHING}"',  # older versions of curl do not send it
        *([f'cacert = "{authority}"'] if authority else []),
    ]
    return "\n".join(lines) + "\n"
