"""IOR's summary in JSON: every figure of it, checked against what was asked. Pure but for reading it.

Source: https://github.com/hpc/ior, src/ior-output.c. Versions differ: results stand beside or in `Options`,
and may be in a list for each repetition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from steelyard.plugin import Mark, Output, ParseFailure, Reading
from steelyard.workloads.ior.options import IorOptions
from steelyard.workloads.kit.document import JsonNode, parse_document

SUMMARY = "summary.json"
_MIB = 2.0**20
_MOST = 16 * 2**20  # bytes of a summary
_SPREADS = {
    "bandwidth_max": ("bwMaxMIB", _MIB),
    "bandwidth_min": ("bwMinMIB", _MIB),
    "bandwidth_stddev": ("bwStdMIB", _MIB),
    "iops_max": ("OPsMax", 1.0),
    "iops_min": ("OPsMin", 1.0),
    "iops_stddev": ("OPsSD", 1.0),
}
_MEANS = {"bandwidth": ("bwMeanMIB", _MIB), "iops": ("OPsMean", 1.0), "time": ("MeanTime", 1.0)}
_PARTS = {"open_time": "openTime", "transfer_time": "wrRdTime", "close_time": "closeTime"}
_FIGURES = ("bwMiB", "iops", "latency", *_PARTS.values(), "totalTime")
_WARNING = re.compile(r"^(?:ior )?WARNING: *(.+)$", re.MULTILINE | re.IGNORECASE)
_OTHER = re.compile(
    r"cannot|not supported|unsupported|ignor|disabl|fall|inconsistent|aggregate|running with", re.I
)
_ASKED_RANKS = re.compile(r" -N (\d+)(?: |$)")


def parse_summary(output: Output, options: IorOptions, accesses: Sequence[str]) -> Reading:
    """What IOR says of each access. Raises ParseFailure."""
    document = _read_summary(output)
    rows = {row.child("operation").text(): row for row in document.child("summary").nodes()}
    missing = [access for access in accesses if access not in rows]
    if missing:
        raise ParseFailure(f"IOR's summary has no figures of {' and '.join(missing)}")
    results = list(_list_results(document))
    values: dict[str, float] = {}
    for access in accesses:
        _check_row(rows[access], options, document)
        values |= _read_row(rows[access], access, repeated=options.repetitions > 1)
        values |= _average_parts(access, results, options.repetitions)
    return _make_reading(values, document, rows[accesses[0]], results, output, options)


def _read_summary(output: Output) -> JsonNode:
    path = output.raw.get(SUMMARY)
    text = path.read_bytes()[:_MOST].decode(errors="replace") if path else ""
    if not text.strip():
        said = (output.stderr.strip() or output.stdout.strip() or "nothing").splitlines()[-1][:200]
        raise ParseFailure(f"IOR wrote no summary; IOR 3.3 or newer is needed. Its last line: {said}")
    return parse_document(text, "IOR")


def _list_results(document: JsonNode) -> Iterator[JsonNode]:
    for test in document.child("tests").nodes():
        inside = test.child("Options", default={}).child("Results", default=[])
        for entry in test.child("Results", default=inside.value).nodes():
            yield from entry.nodes() if isinstance(entry.value, list) else (entry,)


def _check_row(row: JsonNode, options: IorOptions, document: JsonNode) -> None:
    """That IOR ran what was asked, with all its ranks."""
    asked = {
        "blockSize": int(options.block),
        "transferSize": int(options.transfer),
        "segmentCount": options.segments,
        "repetitions": options.repetitions,
        "filePerProc": int(options.file_per_process),
    }
    for name, wanted in asked.items():
        if (got := row.child(name).count()) != wanted:
            raise ParseFailure(f"IOR ran with {name} {got}, not {wanted}")
    started = _ASKED_RANKS.search(document.child("Command line", default="").text())
    ranks, seen = int(started[1]) if started else None, row.child("numTasks").count()
    if ranks not in (None, seen):
        why = "the launcher may belong to another MPI than IOR"
        raise ParseFailure(f"{ranks} ranks were started, but IOR counted {seen}: {why}")


def _read_row(row: JsonNode, access: str, *, repeated: bool) -> dict[str, float]:
    wanted = _MEANS | _SPREADS if repeated else _MEANS
    return {f"{access}_{name}": row.child(key).number() * factor for name, (key, factor) in wanted.items()}


def _average_parts(access: str, results: Sequence[JsonNode], repetitions: int) -> dict[str, float]:
    mine = [entry for entry in results if entry.child("access").text() == access]
    if len(mine) != repetitions:
        raise ParseFailure(f"IOR's summary has results of {len(mine)} of {repetitions} {access} repetitions")
    return {
        f"{access}_{name}": sum(entry.child(key).number() for entry in mine) / repetitions
        for name, key in _PARTS.items()
    }


def _make_reading(
    values: dict[str, float],
    document: JsonNode,
    row: JsonNode,
    results: Sequence[JsonNode],
    output: Output,
    options: IorOptions,
) -> Reading:
    warnings = list(dict.fromkeys(_WARNING.findall(output.stdout) + _WARNING.findall(output.stderr)))
    others = [text for text in warnings if _OTHER.search(text) and not _is_stonewall(text, options)]
    facts = {
        "ior": document.child("Version", default="unknown").text(),
        "api": row.child("API").text(),
        "ranks": row.child("numTasks").count(),
        "bytes": row.child("xsizeMiB").number() * _MIB,
        "iterations": [_describe_result(entry) for entry in results],
        "warnings": warnings,
    }
    marks = tuple(Mark("fallback", f"IOR warned: {text[:200]}", "warning of IOR") for text in others)
    return Reading(values, marks=marks, facts=facts)


def _is_stonewall(text: str, options: IorOptions) -> bool:
    """With a deadline, other amounts than the whole are what was asked for."""
    return options.stonewall is not None and "aggregate" in text.lower()


def _describe_result(entry: JsonNode) -> dict[str, str | float]:
    figures = {key: node.number() for key, node in entry.items() if key in _FIGURES}
    return {"access": entry.child("access").text(), **figures}
