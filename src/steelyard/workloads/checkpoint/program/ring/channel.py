"""Messages between neighbours: numbered, of a length, with a checksum; and a mark behind the last one."""

from __future__ import annotations

import contextlib
import socket
import struct
import zlib

from steelyard.workloads.checkpoint.program.faults import CheckpointFault

FRAME = struct.Struct("<QII")  # number, length, checksum
MARK = 0xFFFFFFFF  # in place of a length: nothing is in transit behind it
GREETING = 64  # characters of the secret with which a neighbour shows itself
PATIENCE = 60.0  # seconds until the others must have come


def send_message(channel: socket.socket, number: int, content: bytes) -> None:
    """Raises OSError."""
    channel.sendall(FRAME.pack(number, len(content), zlib.crc32(content)) + content)


def send_mark(channel: socket.socket, last: int) -> None:
    """Say which message was the last. Raises OSError."""
    channel.sendall(FRAME.pack(last, MARK, 0))


def receive_message(channel: socket.socket) -> tuple[int, bool]:
    """The number of the next one, and whether it is the mark. Raises CheckpointFault, OSError."""
    number, length, checksum = FRAME.unpack(receive_exactly(channel, FRAME.size))
    if length == MARK:
        return number, True
    if zlib.crc32(receive_exactly(channel, length)) != checksum:
        raise CheckpointFault(f"message {number} from the left neighbour was altered on its way")
    return number, False


def receive_exactly(channel: socket.socket, size: int) -> bytes:
    """So many bytes. Raises CheckpointFault, OSError."""
    content = channel.recv(size, socket.MSG_WAITALL)
    if len(content) < size:
        raise CheckpointFault("the left neighbour closed its connection in the middle")
    return content


def listen_on(address: str, port: int = 0) -> socket.socket:
    """A socket at one address; without a port, at a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family)


def connect_to(own: str, address: str, port: int) -> socket.socket:
    """From one's own address, by which the other knows who comes. Raises OSError."""
    channel = socket.create_connection((address, port), PATIENCE, (own, 0))
    channel.settimeout(None)
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return channel


def accept_neighbour(listening: socket.socket, secret: str) -> socket.socket:
    """The connection of who knows the secret; strangers are sent away. Raises OSError."""
    listening.settimeout(PATIENCE)
    while True:
        channel, _ = listening.accept()
        channel.settimeout(PATIENCE)
        with contextlib.suppress(OSError):
            if channel.recv(GREETING, socket.MSG_WAITALL) == secret.encode():
                channel.settimeout(None)
                return channel
        channel.close()
