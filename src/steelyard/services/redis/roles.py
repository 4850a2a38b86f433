"""Who may do what in a Redis server, as lines of redis.conf. Passwords stand there as hashes. Pure.

redis-benchmark takes its password on its command line alone, where everybody on the client's host can read
it. So it has a role of its own, which may send what its tests send, to the keys that they use, and no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from steelyard.plugin import derive_password

BENCHMARK = "benchmark"
_LISTS = ("mylist", "myset", "myhash", "myzset", "mystream")
# In a cluster there is a tag after each name, which spreads the keys.
_KEYS = ("key:*", "counter:*", *_LISTS, *(f"{name}:*" for name in _LISTS))
_COMMANDS = (
    "ping set get incr lpush rpush lpop rpop sadd hset spop zadd zpopmin lrange mset xadd "
    "cluster|nodes cluster|slots"
)


def role_lines(password: str) -> Iterator[str]:
    """The run's own role, which may do everything, and that of redis-benchmark."""
    yield f"user default on #{_hash(password)} ~* &* +@all"
    keys = " ".join(f"~{pattern}" for pattern in _KEYS)
    commands = " ".join(f"+{command}" for command in _COMMANDS.split())
    yield f"user {BENCHMARK} on #{_hash(derive_password(BENCHMARK, password))} {keys} {commands}"


def _hash(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()
