"""What others wrote, made fit to be shown: it may look like anything, but it may not act.

Output of tools, names of hosts, files and processes, whole records may be a stranger's. A terminal obeys
control characters (it moves, recolours and renames itself, and even types), and a reader's eye obeys those
that turn the direction of writing. Whatever leaves for a person's eyes passes one of these functions:
`cli.terminal` and `cli.screen` are the ways to a terminal, and in `report` each format has one place.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_UNCERTAIN = re.compile("[^ -~]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def make_printable(text: str) -> str:
    r"""The text with `\x1b` in the place of a character that would act. Line feeds and tabs stay."""
    return _escape_text(text.replace("\r\n", "\n"), "\n\t")


def make_one_line(text: str) -> str:
    r"""The same on one line: a line feed is shown as `\n`, a tab as `\t`."""
    return _escape_text(text, "")


def make_data_printable(value: Any) -> Any:
    """The same for every text in plain data, keys included."""
    if isinstance(value, str):
        return make_printable(value)
    if isinstance(value, dict):
        return {make_data_printable(key): make_data_printable(item) for key, item in value.items()}
    return [make_data_printable(item) for item in value] if isinstance(value, list | tuple) else value


def _escape_text(text: str, let_through: str) -> str:
    """A report is a million letters, nearly all of ASCII's: only the others are looked at one by one."""

    def show(letter: re.Match[str]) -> str:
        return letter[0] if letter[0] in let_through or _is_visible(letter[0]) else _escape(letter[0])

    return _UNCERTAIN.sub(show, text)


def _is_visible(letter: str) -> bool:
    """Unicode's controls, formats, private and unassigned letters do not; blanks of every width do."""
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def _escape(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # stands for a byte that was no text
        code -= 0xDC00
    width = 2 if code <= 0xFF else 4 if code <= 0xFFFF else 8
    return _SHORT.get(letter) or f"\\{'xuU'[width // 4]}{code:0{width}x}"
