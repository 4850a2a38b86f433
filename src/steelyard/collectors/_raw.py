"""Look things up in raw text by path. What is absent or odd is None and then left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Raw = Mapping[str, str]


def word(raw: Raw, path: str) -> str | None:
    """The content of a file without the blanks around it; None when it is absent or empty."""
    return raw.get(path, "").strip() or None


def number(text: str | None) -> int | None:
    """A whole number; None for anything else."""
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def count(raw: Raw, path: str) -> int | None:
    """The whole number that a file holds."""
    return number(word(raw, path))


def chosen(text: str | None) -> str | None:
    """What stands in brackets: `none [mq-deadline] kyber`; the whole text when nothing does."""
    found = re.search(r"\[([^]\s]+)\]", text or "")
    return found[1] if found else text


def each(raw: Raw, pattern: str) -> dict[str, str]:
    """Content of all files of a pattern by what its one or more `*` stand for, joined with a slash."""
    path = re.compile(re.escape(pattern).replace(r"\*", "([^/]+)"))
    matches = ((path.fullmatch(name), text.strip()) for name, text in raw.items())
    return {"/".join(match.groups()): text for match, text in matches if match}


def known(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {}, ())}


def pairs(text: str, sign: str) -> dict[str, str]:
    """Lines of `name<sign>value`, stripped; the first of a name counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.partition(sign)
        if separator:
            found.setdefault(name.strip(), value.strip())
    return found
