"""Look things up in raw text by path. What is absent or odd is None and then left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Raw = Mapping[str, str]


def read_word(raw: Raw, path: str) -> str | None:
    """The content of a file without the blanks around it; None when it is absent or empty."""
    return raw.get(path, "").strip() or None


def parse_number(text: str | None) -> int | None:
    """A whole number; None for anything else."""
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def read_number(raw: Raw, path: str) -> int | None:
    """The whole number that a file holds."""
    return parse_number(read_word(raw, path))


def parse_selection(text: str | None) -> str | None:
    """What stands in brackets: `none [mq-deadline] kyber`; the whole text when nothing does."""
    match = re.search(r"\[([^]\s]+)\]", text or "")
    return match[1] if match else text


def match_files(raw: Raw, pattern: str) -> dict[str, str]:
    """Content of all files of a pattern by what its one or more `*` stand for, joined with a slash."""
    path = re.compile(re.escape(pattern).replace(r"\*", "([^/]+)"))
    matches = ((path.fullmatch(name), text.strip()) for name, text in raw.items())
    return {"/".join(match.groups()): text for match, text in matches if match}


def drop_empty(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {}, ())}


def parse_pairs(text: str, sign: str) -> dict[str, str]:
    """Lines of `name<sign>value`, stripped; the first of a name counts."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.partition(sign)
        if separator:
            values.setdefault(name.strip(), value.strip())
    return values
