"""A client in a closed loop. It runs on a host: `kv_load.py ADDRESS PORT REQUESTS BYTES SEED`.

Prints one line of JSON: seconds in all, and how many requests took how many nanoseconds, to two digits.
"""

import collections
import json
import os
import random
import socket
import sys
import time


def expect(answer: str, wanted: str) -> None:
    """End with an error that says what was wrong: a trial with it fails."""
    if answer != wanted:
        sys.exit(f"the server answered {answer[:80]!r}, not {wanted[:80]!r}")


address, port, requests, size, seed = sys.argv[1], *map(int, sys.argv[2:])
drawn, latencies = random.Random(seed), collections.Counter()
with socket.create_connection((address, port)) as connection, connection.makefile("rw") as stream:

    def ask(line: str) -> str:
        """Send a request, and wait for its answer."""
        stream.write(line + "\n")
        stream.flush()
        return stream.readline().rstrip("\n")

    expect(ask(f"AUTH {os.environ['KV_PASSWORD']}"), "OK")
    started = time.monotonic_ns()
    for number in range(requests):
        key, value = drawn.randrange(1000), f"{number:0{size}}"
        before = time.monotonic_ns()
        expect(ask(f"SET {key} {value}"), "OK")
        latencies[float(f"{time.monotonic_ns() - before:.1e}")] += 1
        expect(ask(f"GET {key}"), value)
    seconds = (time.monotonic_ns() - started) / 1e9
print(json.dumps({"seconds": seconds, "latency": latencies}))
