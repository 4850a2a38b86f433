"""Whether options that a user hands to fio may pass: known names, readable values, nothing outside scratch.

fio itself would accept some of what is refused here: it reads `bs=4x` as 4 bytes and, unless `kb_base` is
1000, `4KiB` as 4000 bytes (fio HOWTO, "Parameter types"). Both give a measurement of something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from steelyard.errors import suggest_name
from steelyard.workloads.kit.fio.options import DIRECTIONS, ENGINES, KINDS, REFUSED

Scalar = bool | int | float | str | None

_NUMBER = r"(0x[0-9a-f]+|\d+(\.\d+)?([kmgtp]i?b?|b|%|z)?)"
_NUMBERS = re.compile(rf"-?{_NUMBER}?([-,:/]{_NUMBER}?)*", re.IGNORECASE)
_TIMES = re.compile(r"\d+(\.\d+)?\s?(d|h|m|s|ms|us|ns|[mun]?sec)?(-\d+[a-z]*)?", re.IGNORECASE)
_IEC = re.compile(r"\d[kmgtp]ib?\b", re.IGNORECASE)
_JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")


def check_option(key: str, value: Scalar) -> Scalar:
    """The value of a known option as it is. Raises ValueError saying why fio must not get it."""
    fault = _refusal(key) or _text_problem(value) or _value_problem(key, format_value(value))
    if fault:
        raise ValueError(fault)
    return value


def check_job_name(name: str) -> str:
    """The name, after which fio names files. Raises ValueError when a job cannot have it."""
    if name == "global" or not _JOB_NAME.fullmatch(name):
        allowed = "letters, digits, '_', '.' and '-' (and not 'global')"
        raise ValueError(f"'{name[:60]}' cannot name a job; use {allowed}")
    return name


def format_value(value: Scalar) -> str:
    """A value of the file as fio reads it; a bare option (null) is switched on."""
    if value is None or value is True:
        return "1"
    return "0" if value is False else str(value)


class _Job(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def explicit_options(self) -> dict[str, Scalar]:
        """The options that were given, by fio's names."""
        return self.model_dump(exclude_unset=True, by_alias=True)


def _make_job_model() -> Any:
    fields = {
        key.replace("-", "_"): (
            Annotated[Scalar, AfterValidator(partial(check_option, key))],
            Field(None, alias=key if "-" in key else None),
        )
        for key in KINDS
    }
    return create_model("JobOptions", __base__=_Job, **fields)  # type: ignore[call-overload]


if TYPE_CHECKING:

    class JobOptions(_Job):
        """fio's options of one job, one field each, so that a mistake is told at its own line."""

else:
    JobOptions = _make_job_model()


def _refusal(key: str) -> str:
    return f"not allowed here: {REFUSED[key]}" if key in REFUSED else ""


def _text_problem(value: Scalar) -> str:
    if isinstance(value, str) and re.search(r"[\x00-\x1f\x7f]", value):
        return "a value is one line without control characters"
    return ""


def _value_problem(key: str, value: str) -> str:
    kind = KINDS[key]
    if kind == "flag" and value not in ("0", "1"):
        return f"'{value}' is neither true nor false"
    if kind == "time" and not _TIMES.fullmatch(value):
        return f"'{value}' is not a time as fio writes it, for example 10s or 500ms"
    if kind == "number":
        return _number_problem(value)
    return _TEXTS[key](value) if key in _TEXTS else ""


def _number_problem(value: str) -> str:
    if not value or not _NUMBERS.fullmatch(value):
        return f"'{value}' is not a number as fio writes it, for example 4k, 1m or 4k-64k"
    if _IEC.search(value):
        plain = re.sub(r"i[bB]?\b", "", value)
        return f"fio counts '{value}' in units of 1000; write '{plain}' for units of 1024"
    return ""


def _path_problem(value: str) -> str:
    parts = re.split(r"(?<!\\):", value)
    if any("/" in part or part.strip() in ("", ".", "..", "-") for part in parts):
        return f"'{value}' is not a plain file name; files are in the trial's scratch directory"
    return ""


def _engine_problem(value: str) -> str:
    if value in ENGINES:
        return ""
    return f"'{value}' is not a file engine ({', '.join(sorted(ENGINES))}){suggest_name(value, ENGINES)}"


def _direction_problem(value: str) -> str:
    if value.split(":", maxsplit=1)[0] in DIRECTIONS:
        return ""
    return f"'{value}' is not one of {', '.join(DIRECTIONS)}{suggest_name(value, DIRECTIONS)}"


def _memory_problem(value: str) -> str:
    return f"'{value}' names a file outside the scratch directory" if ":" in value else ""


def _pattern_problem(value: str) -> str:
    return f"{value} refers to a file; give the pattern itself" if "'" in value else ""


_TEXTS: Mapping[str, Callable[[str], str]] = {
    "filename": _path_problem,
    "filename_format": _path_problem,
    "ioengine": _engine_problem,
    "rw": _direction_problem,
    "readwrite": _direction_problem,
    "mem": _memory_problem,
    "iomem": _memory_problem,
    "buffer_pattern": _pattern_problem,
    "verify_pattern": _pattern_problem,
}
