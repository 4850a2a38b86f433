"""Draw a picture row by row, save it on SIGUSR1, and go on from the file: run by figure-4.11.yaml.

    render.py draw WIDTH [--resume]
    render.py state

`state` prints what is the same before a save and after the restore: a digest of the rows that were drawn at
first, from the memory of the program.
"""

import hashlib
import itertools
import os
import signal
import socket
import struct
import sys
from pathlib import Path

STATE, NEW, READY, ASK = Path("picture.state"), Path("picture.new"), Path("ready"), Path("ask")
HEAD = struct.Struct("<QQ")  # width, and rows that are drawn
FIRST = 4  # rows
DEPTH = 12  # iterations for each pixel: the picture is coarse, and its memory large
COLOURS = bytes(itertools.chain.from_iterable((n * 20, n * 10, 255 - n * 20) for n in range(DEPTH + 1)))


class Picture:
    """The Mandelbrot set, 16:9, three bytes a pixel; over noise, so that all of its memory is in use."""

    def __init__(self, width: int) -> None:
        self.width, self.height, self.drawn = width, width * 9 // 16, 0
        self.pixels = bytearray(os.urandom(3 * self.width * self.height))

    def draw_row(self) -> None:
        """The next one, from the top again after the last."""
        row = self.drawn % self.height
        imaginary = 2.0 * row / self.height - 1.0
        line = bytearray()
        for column in range(self.width):
            start = complex(3.0 * column / self.width - 2.0, imaginary)
            point, count = start, 0
            while count < DEPTH and abs(point) < 2.0:
                point, count = point * point + start, count + 1
            line += COLOURS[3 * count : 3 * count + 3]
        self.pixels[3 * self.width * row : 3 * self.width * (row + 1)] = line
        self.drawn += 1

    def save(self) -> None:
        """Under another name first, so that the file is there whole or not at all."""
        with NEW.open("wb") as file:
            file.write(HEAD.pack(self.width, self.drawn))
            file.write(self.pixels)
        NEW.rename(STATE)

    @staticmethod
    def load() -> "Picture":
        """What was saved."""
        picture = Picture(0)
        with STATE.open("rb") as file:
            picture.width, picture.drawn = HEAD.unpack(file.read(HEAD.size))
            picture.height = picture.width * 9 // 16
            picture.pixels = bytearray(3 * picture.width * picture.height)
            file.readinto(picture.pixels)
        return picture


def draw(width: str, *resume: str) -> None:
    """Row after row, until it is killed."""
    picture = Picture.load() if resume else Picture(int(width))
    while picture.drawn < FIRST:
        picture.draw_row()
    signal.signal(signal.SIGUSR1, lambda *_: picture.save())
    ASK.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as asked:
        asked.bind(str(ASK))
        asked.listen()
        asked.setblocking(False)
        READY.touch()
        while True:
            picture.draw_row()
            answer(asked, picture)


def answer(asked: socket.socket, picture: Picture) -> None:
    """Tell whoever asks of the first rows; drawing goes on where nobody does."""
    try:
        client, _ = asked.accept()
    except BlockingIOError:
        return
    with client:
        client.sendall(hashlib.sha256(picture.pixels[: 3 * picture.width * FIRST]).hexdigest().encode())


def state() -> None:
    """Of the program that runs."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(ASK))
        print(asking.makefile().read())


if __name__ == "__main__":
    {"draw": draw, "state": state}[sys.argv[1]](*sys.argv[2:])
