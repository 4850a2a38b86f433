"""Find one number in what a program printed or wrote: by a JSON path or a regular expression."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from steelyard.errors import ParseFailure, UnitError
from steelyard.model.command import Output
from steelyard.model.unit import base_unit, convert_number

_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d+|'[^']*')\]")


class FigureSource(NamedTuple):
    """Where the figure `name` is: in stdout, stderr or a raw file, how to find it there, and its unit."""

    name: str
    where: str
    json_path: str | None
    regex: str | None
    unit: str


def find_figure(source: FigureSource, output: Output) -> float:
    """The number, in the base unit of the metric. Raises ParseFailure that quotes what was found instead.

    A number without a unit is in that of the metric; one with a unit (`43.99ms`) is converted.
    """
    return find_figure_in(source, _read_source(source, output))


def find_figure_in(source: FigureSource, text: str) -> float:
    """The same in a text."""
    value = _find_by_regex(source, text) if source.regex is not None else _find_by_path(source, text)
    try:
        number = _convert_number(value, source.unit)
    except (TypeError, OverflowError):
        number = math.nan
    except UnitError as error:
        raise ParseFailure(f"metric {source.name}: {error.message}") from None
    if not math.isfinite(number):
        raise ParseFailure(
            f"metric {source.name}: found {_excerpt(str(value))}, which is not a finite number"
        )
    return number


def _convert_number(found: Any, unit: str) -> float:
    if isinstance(found, bool):
        return math.nan
    try:
        return float(found) * base_unit(unit).value
    except ValueError:
        return convert_number(found, unit)


def parse_path(path: str) -> Iterator[str | int]:
    """The keys and indices of `a.b[0]['odd key']`. Raises ValueError."""
    end = 0
    while end < len(path):
        match = _STEP.match(path, end)
        if not match or (end == 0 and path.startswith(".")):
            break
        key, index = match.groups()
        yield key or (index.strip("'") if index.startswith("'") else int(index))
        end = match.end()
    if end != len(path) or not path:
        raise ValueError(f"'{path}' is not a path; for example results[0].rate")


def _read_source(source: FigureSource, output: Output) -> str:
    if source.where in ("stdout", "stderr"):
        return str(getattr(output, source.where))
    path = output.raw.get(source.where)
    if path is None:
        raise ParseFailure(
            f"metric {source.name}: the program wrote no file {source.where} to the directory $RAW,"
            " nor to its working directory"
        )
    return path.read_text(errors="replace")


def _find_by_regex(source: FigureSource, text: str) -> str:
    matches = re.findall(source.regex or "", text, re.MULTILINE)
    if not matches:
        raise ParseFailure(f"metric {source.name}: no match for {source.regex!r} in {_excerpt(text)}")
    return str(matches[-1])


def _find_by_path(source: FigureSource, text: str) -> Any:
    try:
        place: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise ParseFailure(f"metric {source.name}: not JSON: {_excerpt(text)}") from None
    for step in parse_path(source.json_path or ""):
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            excerpt = _excerpt(json.dumps(place))
            raise ParseFailure(
                f"metric {source.name}: no {step!r} of '{source.json_path}' in {excerpt}"
            ) from None
    return place


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:40]} … {text[-40:]}") if text else "empty output"
