"""MACSio's main log: for each rank its dumps, and on the first what all ranks did together.

Format: `MACSIO_LOG_MSG` in macsio_main.c and the units in macsio_utils.c of https://github.com/LLNL/MACSio.
Sizes have prefixes of the system that was asked for, binary here; times a word from `nsecs` to `wks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from steelyard.plugin import ParseFailure
from steelyard.workloads.macsio.figures import DumpTiming

_UNIT_BYTES = {
    "b": 1.0,
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTP", 1)},
    **{f"{letter}b": 1000.0**power for power, letter in enumerate("KMGTP", 1)},
}
_UNIT_SECONDS = {
    "nsecs": 1e-9,
    "usecs": 1e-6,
    "msecs": 1e-3,
    "secs": 1.0,
    "mins": 60.0,
    "hrs": 3600.0,
    "days": 86_400.0,
    "wks": 604_800.0,
}
_NUMBER = r"\s*([0-9]{1,12}(?:\.[0-9]{1,12})?)"
_SIZE = rf"{_NUMBER} ([KMGTP][ib]|b)"
_TIME = rf"{_NUMBER} ([a-z]{{3,5}})"
_PROCESSOR = re.compile(r"^-+Processor ([0-9]{1,9})-+\s*$", re.MULTILINE)
_DUMP = re.compile(rf"Dump ([0-9]{{1,9}}) BW:{_SIZE}/{_TIME} =")
_SUMMED = re.compile(rf"Summed\s+BW:{_SIZE}/sec")
_TOTAL = re.compile(rf"Total Bytes:{_SIZE}; Last finisher - First starter ={_TIME};")


class MacsioLog(NamedTuple):
    """What the log says: each dump over all ranks, and all of it together."""

    ranks: int
    dumps: list[DumpTiming]
    summed_rate: float
    elapsed: float


def parse_log(text: str, wanted: int) -> MacsioLog:
    """The log of a run of so many dumps. Raises ParseFailure for one that lacks any of a rank's."""
    by_rank = [_read_rank(section, rank, wanted) for rank, section in enumerate(_split_ranks(text))]
    if not by_rank:
        raise ParseFailure(
            "MACSio's log has no line 'Processor 000000': is it the file that --log_file_name names?"
        )
    summed, total = _SUMMED.search(text), _TOTAL.search(text)
    if not summed or not total:
        raise ParseFailure(
            "MACSio's log lacks 'Summed BW' or 'Total Bytes', which the first rank writes at the end"
        )
    dumps = [_merge_ranks(times) for times in zip(*by_rank, strict=True)]
    return MacsioLog(len(by_rank), dumps, _read_size(*summed.groups()), _read_time(*total.groups()[2:]))


def _split_ranks(text: str) -> Iterator[str]:
    _, *parts = _PROCESSOR.split(text)
    for rank, (number, section) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        if int(number) != rank:
            raise ParseFailure(f"MACSio's log has processor {int(number)} where {rank} is due")
        yield section


def _read_rank(section: str, rank: int, wanted: int) -> list[tuple[float, float]]:
    """Bytes and seconds of each dump of a rank."""
    dumps = {
        int(number): (_read_size(size, prefix), _read_time(time, unit))
        for number, size, prefix, time, unit in _DUMP.findall(section)
    }
    if sorted(dumps) != list(range(wanted)):
        raise ParseFailure(f"MACSio's log has {len(dumps)} dumps of rank {rank}, not the {wanted} asked for")
    return [dumps[number] for number in range(wanted)]


def _merge_ranks(ranks: tuple[tuple[float, float], ...]) -> DumpTiming:
    times = [time for _, time in ranks]
    return DumpTiming(sum(size for size, _ in ranks), min(times), sum(times) / len(times), max(times))


def _read_size(number: str, prefix: str) -> float:
    return float(number) * _UNIT_BYTES[prefix]


def _read_time(number: str, unit: str) -> float:
    if unit not in _UNIT_SECONDS:
        raise ParseFailure(
            f"MACSio's log has a time in '{unit}', which is none of {', '.join(_UNIT_SECONDS)}"
        )
    return float(number) * _UNIT_SECONDS[unit]
