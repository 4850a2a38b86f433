"""A user of a file system: `python3 blocks.py SECONDS WRITES_PER_SECOND BLOCK_SIZE`.

It writes and syncs a block whenever one is due, whether or not the one before was late, and prints as JSON
what it saw: errors, the longest time without a finished write, the slowest and the fastest second, and the
space before and after.
"""

import itertools
import json
import os
import sys
import time

BLOCKS = 20  # in a file, which is left alone then: what is written all the time is not healed meanwhile


def write(number, block):
    """One block at the end of a file that is opened anew: a handle of before an outage may be stale."""
    handle = os.open(f"blocks-{number // BLOCKS}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, block)
        os.fsync(handle)
    finally:
        os.close(handle)


def space():
    """Bytes of the file system, as any application sees them."""
    seen = os.statvfs(".")
    return seen.f_blocks * seen.f_frsize


def main(seconds, rate, size):
    """Write until the time is over."""
    block, began = os.urandom(size), time.monotonic()
    errors, done, latencies, before = 0, [], [], space()
    for number in range(int(seconds * rate)):
        due = began + number / rate
        time.sleep(max(0.0, due - time.monotonic()))
        if time.monotonic() > began + seconds:
            break
        try:
            write(number, block)
        except OSError as error:
            print(f"{time.monotonic() - began:.3f} s: {error}", file=sys.stderr)
            errors += 1
            continue
        done.append(time.monotonic() - began)
        latencies.append(time.monotonic() - due)
    instants = [0.0, *done, max(seconds, *done, 0.0)]
    per_second = [sum(at <= each < at + 1 for each in done) for at in range(int(seconds))]
    seen = {
        "writes": len(done),
        "errors": errors,
        "longest_pause": max(later - earlier for earlier, later in itertools.pairwise(instants)),
        "latency_p99": sorted(latencies)[int(len(latencies) * 0.99)] if latencies else seconds,
        "slowest_second": min(per_second) * size,
        "fastest_second": max(per_second) * size,
        "space_before": before,
        "space_after": space(),
    }
    print(json.dumps(seen))


main(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
