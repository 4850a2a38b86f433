"""A program of a user's: it counts in a file, and saves when it gets a signal or finds a file."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

STATE = Path("state.bin")


def save(*_: object) -> None:
    new = STATE.with_suffix(".new")
    new.write_text(f"{number}\n")
    new.rename(STATE)


number = int(STATE.read_text()) if "--resume" in sys.argv else 42
if "--forget" in sys.argv:
    number = 43
Path("number").write_text(str(number))
signal.signal(signal.SIGUSR1, save)
if "--never-ready" in sys.argv:
    sys.exit(5)
Path("ready").touch()
while os.getppid() != 1:
    if Path("please").exists():
        Path("please").unlink()
        save()
    time.sleep(0.001)
