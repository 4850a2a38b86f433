"""Arguments of a submit description, read as condor_submit(1) describes the new syntax."""

from __future__ import annotations

import re


def parse_arguments(text: str) -> list[str]:
    """For words that are all in single quotes. Raises ValueError."""
    if not re.fullmatch(r'"([^"]|"")*"', text):
        raise ValueError("ERROR: Found illegal unescaped double-quote")
    inner = text[1:-1].replace('""', '"').replace("$(DOLLAR)", "$")
    return [word.replace("''", "'") for word in re.findall(r"'((?:[^']|'')*)'(?: |$)", inner)]
