"""What a unit's memory must hold: known to the verifier alone, who can tell it again at any time."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.unit import BLOCK, digest_block

PAGE = 4096
STRIDE = 7919  # pages between two steps: over the whole memory, each page in turn


class ExpectedMemory:
    """The content follows from a secret, so that it need not be kept; steps change it one after the other."""

    def __init__(self, kind: str, size: int) -> None:
        self.kind, self.size, self.counter = kind, size, 0
        self._secret = secrets.token_bytes(32)
        self._tokens: dict[int, bytes] = {}

    def advance(self) -> tuple[int, bytes]:
        """The next step: where its token belongs."""
        self.counter += 1
        position = PAGE * (self.counter * STRIDE % max(1, self.size // PAGE))
        self._tokens[position] = secrets.token_bytes(32)
        return position, self._tokens[position]

    def blocks(self) -> Iterator[bytes]:
        """All of it as it is now, block by block."""
        for start in range(0, self.size, BLOCK):
            block = bytearray(self._make_block(start // BLOCK, min(BLOCK, self.size - start)))
            for position, token in self._tokens.items():
                if start <= position < start + BLOCK:
                    block[position - start : position - start + len(token)] = token
            yield bytes(block)

    def _make_block(self, number: int, size: int) -> bytes:
        if self.kind == "zero":
            return bytes(size)
        source = hashlib.shake_128(self._secret + number.to_bytes(8, "little"))
        if self.kind == "random":
            return source.digest(size)
        return halve_pages(source.digest((size + 1) // 2 + PAGE), size)

    def check_proof(self, key: str, digests: list[str]) -> None:
        """Compare with what a unit proved. Raises CheckpointFault."""
        expected = [digest_block(key, block) for block in self.blocks()]
        if len(digests) != len(expected):
            raise CheckpointFault(
                f"the restored memory has {len(digests)} MiB, and {len(expected)} MiB were saved"
            )
        wrong = [number for number, pair in enumerate(zip(digests, expected)) if pair[0] != pair[1]]
        if wrong:
            raise CheckpointFault(
                f"the restored memory is not what was saved: {len(wrong)} of {len(expected)} MiB differ, "
                f"the first at byte {wrong[0] * BLOCK}"
            )

    def check_counter(self, counter: int, when: str) -> None:
        """Compare with the number of the step that a unit has just made. Raises CheckpointFault."""
        if counter != self.counter:
            how = "repeats steps" if counter < self.counter else "leaves steps out"
            raise CheckpointFault(f"the counter {how} {when}: it is {counter}, and {self.counter} was due")


def halve_pages(random: bytes, size: int) -> bytes:
    """Half of each page random, half zero: no page is a hole, and any compression halves it."""
    half = PAGE // 2
    pages = (random[start : start + half] + bytes(half) for start in range(0, (size + 1) // 2, half))
    return b"".join(pages)[:size]
