"""A fork bomb that stops by itself: `bomb.py N` doubles until N copies were made, each for a byte."""

from __future__ import annotations

import os
import signal
import sys

allowed, granted = os.pipe()
os.write(granted, b"." * int(sys.argv[1]))
os.close(granted)
while os.read(allowed, 1):
    if os.fork() == 0 and len(sys.argv) > 2:
        os.setsid()
signal.pause()
