"""Text that XML can hold: a stranger's output may have characters that no escape makes legal."""

from __future__ import annotations

import re
from typing import Any

# XML 1.0, section 2.2.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """The text with `�` in the place of each character that XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text)


def xml_data(value: Any) -> Any:
    """The same for every text in plain data, keys included."""
    if isinstance(value, str):
        return xml_text(value)
    if isinstance(value, dict):
        return {xml_text(key): xml_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [xml_data(item) for item in value]
    return value
