"""CRC-32C of many records at once (the polynomial of iSCSI, RFC 3720, appendix B.4)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78


@lru_cache(maxsize=1)
def _make_table() -> np.ndarray[Any, np.dtype[np.uint32]]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


def checksum_rows(rows: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The checksum of each row of bytes."""
    table = _make_table()
    checksums = np.full(len(rows), 0xFFFFFFFF, dtype=np.uint32)
    for column in rows.T:
        checksums = (checksums >> np.uint32(8)) ^ table[(checksums ^ column) & np.uint32(0xFF)]
    return ~checksums


def checksum(content: bytes) -> int:
    """The same for one text."""
    table, result = _list_table(), 0xFFFFFFFF
    for byte in content:
        result = result >> 8 ^ table[(result ^ byte) & 0xFF]
    return result ^ 0xFFFFFFFF


@lru_cache(maxsize=1)
def _list_table() -> list[int]:
    return [int(entry) for entry in _make_table()]
