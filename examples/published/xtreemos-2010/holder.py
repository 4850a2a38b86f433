"""Hold memory, save it on SIGUSR1, and go on from the file; or check that: run by figure-4.2.yaml.

    holder.py serve ADDRESS PORT MEGABYTES [--resume]
    holder.py check ADDRESS PORT

The server answers a key with a digest of its memory by that key, so that the client can compare.
"""

import hashlib
import json
import os
import secrets
import signal
import socket
import sys
import time
from pathlib import Path

STATE, NEW, SAVED_IN = Path("memory.state"), Path("memory.new"), Path("saved_in")
PAUSE = 0.05  # seconds between two questions
CALM = 3.0  # seconds in which it answers after the restore, which come last


def save(memory: bytearray) -> None:
    """Under another name first, so that the file is there whole or not at all; on the disk in either case."""
    began = time.perf_counter()
    with NEW.open("wb", buffering=0) as file:
        rest = memoryview(memory)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    took = time.perf_counter() - began
    SAVED_IN.write_text(str(took))
    NEW.rename(STATE)


def load() -> bytearray:
    """From a cold cache: what was just written would be in memory."""
    with STATE.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        memory = bytearray(os.fstat(file.fileno()).st_size)
        rest = memoryview(memory)
        while rest:
            rest = rest[file.readinto(rest) :]
    return memory


def serve(address: str, port: str, megabytes: str, *resume: str) -> None:
    """Answer one client after the other."""
    began = time.perf_counter()
    memory = load() if resume else bytearray(os.urandom(int(megabytes) * 1_000_000))
    about = {"life": os.getpid()}
    if resume:
        about["restored_in"] = time.perf_counter() - began
        about["saved_in"] = float(SAVED_IN.read_text())
    signal.signal(signal.SIGUSR1, lambda *_: save(memory))
    listening = socket.create_server((address, int(port)))
    while True:
        client, _ = listening.accept()
        with client, client.makefile("rw") as lines:
            key = bytes.fromhex(lines.readline())
            proof = {"digest": hashlib.blake2b(memory, key=key).hexdigest()} if key else {}
            lines.write(json.dumps({**about, **proof}) + "\n")


def ask(place: tuple[str, str], key: str) -> dict:
    """What a server says; nothing while there is none."""
    try:
        with socket.create_connection(place) as server, server.makefile("rw") as lines:
            lines.write(f"{key}\n")
            lines.flush()
            return json.loads(lines.readline() or "{}")
    except OSError:
        return {}


def check(*place: str) -> None:
    """Wait until another process answers; it must hold what the first one held."""
    key = secrets.token_hex(32)
    first = now = ask(place, key)
    while now.get("life", first["life"]) == first["life"]:
        time.sleep(PAUSE)
        now = ask(place, "")
    calm = time.monotonic() + CALM
    if ask(place, key)["digest"] != first["digest"]:
        sys.exit("the restored server holds something else")
    while time.monotonic() < calm:
        time.sleep(PAUSE)
    print(json.dumps({name: now[name] for name in ("saved_in", "restored_in")}))


if __name__ == "__main__":
    {"serve": serve, "check": check}[sys.argv[1]](*sys.argv[2:])
