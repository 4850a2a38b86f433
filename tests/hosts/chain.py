"""Four chains of processes, each of which starts its successor in a new session and exits: 20,000 at most."""

from __future__ import annotations

import os

for _ in range(4):
    if os.fork() == 0:
        for _ in range(5000):
            if os.fork():
                os._exit(0)
            os.setsid()
        os._exit(0)
