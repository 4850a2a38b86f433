"""The list of files that a run of `transfer` leaves: a line for each, and a last one for all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.plugin import Output, ParseFailure

_FILE = re.compile(r"(\d+) (\d+) (\d+\.\d+) (\d+\.\d+)")
_RUN = re.compile(r"run (\d+) (\d+\.\d+) (\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class TransferResult:
    """What one copy moved: seconds from first start to last end, how many files failed, and how long each
    that arrived took: seconds to count, empty where the client does not tell."""

    seconds: float
    failed: int
    times: Mapping[float, int]


def parse_output(output: Output, files: int) -> TransferResult:
    """Read `files.txt`. Raises ParseFailure when a file is missing in it or the clock went backwards."""
    path = output.raw.get("files.txt")
    lines = path.read_text(errors="replace").splitlines() if path else []
    end = _RUN.fullmatch(lines[-1]) if lines else None
    if not end:
        raise ParseFailure("the list of transferred files is missing or truncated")
    failed, seconds = int(end[1]), float(end[3]) - float(end[2])
    if seconds <= 0 or failed > files:
        raise ParseFailure(
            f"{failed} of {files} files failed in {seconds:.3f} s: the host's clock was changed"
        )
    return TransferResult(seconds, failed, _parse_times(lines[:-1], files, failed))


def _parse_times(lines: list[str], files: int, failed: int) -> dict[float, int]:
    matches = [match for line in lines if (match := _FILE.fullmatch(line))]
    if not lines:
        return {}
    numbers = {int(match[1]) for match in matches}
    good = [match for match in matches if match[2] == "0"]
    if len(matches) != len(lines) or numbers != set(range(1, files + 1)) or len(good) != files - failed:
        raise ParseFailure(
            f"the list of transferred files has {len(numbers)} of {files} files, or is damaged"
        )
    times = Counter(round(float(match[4]) - float(match[3]), 6) for match in good)
    if min(times, default=0.0) < 0:
        raise ParseFailure("a file ended before it began: the host's clock was changed")
    return dict(times)
