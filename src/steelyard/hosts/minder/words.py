"""The words of a request, as docs/reference/agent-protocol.md has them quoted."""

from __future__ import annotations

BARE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,+=@%"
# What may follow the end of a quoted part, up to the quote that opens the next one; and what it stands for.
FORMS = ((b"\\''", b"'"), (b'"$NL"\'', b"\n"))


def split_words(line: bytes) -> list[bytes]:
    """Take a request apart into its words. Raises ValueError for a line that is none."""
    words: list[bytes] = []
    place = 0
    while True:
        read = read_quoted if line.startswith(b"'", place) else read_bare
        word, place = read(line, place)
        words.append(word)
        if place == len(line):
            return words
        if not line.startswith(b" ", place):
            raise ValueError("a quoted word goes on without quotes")
        place += 1


def read_bare(line: bytes, place: int) -> tuple[bytes, int]:
    """A word without quotes that begins at `place`, and where it ends."""
    end = line.find(b" ", place)
    word = line[place:] if end < 0 else line[place:end]
    if not word or word.translate(None, BARE):
        raise ValueError("a word is empty, or needs quotes")
    return word, place + len(word)


def read_quoted(line: bytes, place: int) -> tuple[bytes, int]:
    """A word whose quote opens at `place`, and where it ends."""
    parts: list[bytes] = []
    while True:
        end = line.index(b"'", place + 1)
        parts.append(line[place + 1 : end])
        place = end + 1
        for form, meaning in FORMS:
            if line.startswith(form, place):
                parts.append(meaning)
                place += len(form) - 1
                break
        else:
            return b"".join(parts), place
