"""Memory in a virtual machine, and the verifier outside: run by guest-memory.yaml.

`hold.py hold PORT WHERE` keeps what it is given, in its own memory or in System V shared memory, and counts
steps. `hold.py verify MB SECONDS` makes random content, has it held, counts, and proves at the end that all
is as it was.
"""

import ctypes
import hashlib
import json
import os
import socket
import sys
import time

PACE = 0.05  # seconds from one step to the next
BLOCK = 1 << 20
PRIVATE, CREATE, REMOVE = 0, 0o1600, 0  # of shmget(2) and shmctl(2)


def make_memory(size: int, where: str) -> ctypes.Array[ctypes.c_char]:
    """So many bytes."""
    if where == "memory":
        return ctypes.create_string_buffer(size)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(PRIVATE, ctypes.c_size_t(size), CREATE)
    address = libc.shmat(segment, None, 0) if segment >= 0 else None
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "no System V shared memory")
    libc.shmctl(segment, REMOVE, None)  # it goes with the last process that has it
    return (ctypes.c_char * size).from_address(address)


def hold(port: int, where: str) -> None:
    """Serve one verifier after the other: orders are lines, and content follows its order."""
    with socket.create_server(("", port)) as door:
        while True:
            peer, _ = door.accept()
            with peer, peer.makefile("rwb") as stream:
                serve(stream, where)


def serve(stream, where: str) -> None:
    """Obey one verifier until it goes."""
    count, memory = 0, make_memory(1, where)
    while order := stream.readline().split():
        if order[0] == b"hold":
            memory = make_memory(int(order[1]), where)
            view = memoryview(memory).cast("B")
            for start in range(0, len(view), BLOCK):
                view[start : start + BLOCK] = stream.read(len(view[start : start + BLOCK]))
        elif order[0] == b"step":
            count += 1
        answer = str(count) if order[0] != b"prove" else digest(memory, order[1])
        stream.write(answer.encode() + b"\n")
        stream.flush()


def digest(memory, key: bytes) -> str:
    """What only who has the content can tell, once the key is known."""
    return hashlib.blake2b(memory, key=key).hexdigest()


def verify(megabytes: int, seconds: float) -> None:
    """Have content held, count for so many seconds, and print what was seen; ends with 1 at a mismatch."""
    content = os.urandom(megabytes * 1_000_000)
    place = os.environ["STEELYARD_SERVICE_ADDRESS"], int(os.environ["STEELYARD_SERVICE_PORT"])
    with socket.create_connection(place) as peer, peer.makefile("rwb") as stream:

        def ask(order: str, content: bytes = b"") -> str:
            stream.write(order.encode() + b"\n" + content)
            stream.flush()
            return stream.readline().decode().strip()

        ask(f"hold {len(content)}", content)
        longest, steps, end = 0.0, 0, time.monotonic() + seconds
        while (began := time.monotonic()) < end:
            steps += 1
            if ask("step") != str(steps):
                sys.exit("the count did not go on with the next number")
            longest = max(longest, time.monotonic() - began)
            time.sleep(PACE)
        key = os.urandom(16).hex()
        if ask(f"prove {key}") != digest(content, key.encode()):
            sys.exit("what is held is not what was given")
    print(json.dumps({"longest_pause": longest, "steps": steps}))


if sys.argv[1] == "hold":
    hold(int(sys.argv[2]), sys.argv[3])
else:
    verify(int(sys.argv[2]), float(sys.argv[3]))
