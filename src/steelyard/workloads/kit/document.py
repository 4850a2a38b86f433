"""A tool's JSON, read without trust: whatever is missing or of another type becomes a ParseFailure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NoReturn

from steelyard.errors import ParseFailure

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value of the JSON text with the place where it stands, for messages."""

    value: object
    where: str

    def child(self, key: str, *, default: object = None) -> JsonNode:
        """The value under a key, or the default where the tool leaves the key out."""
        content = self._mapping()
        if key not in content and default is None:
            raise ParseFailure(f"{self.where} lacks '{key}'")
        return JsonNode(content.get(key, default), f"{self.where}, {key}")

    def nodes(self) -> list[JsonNode]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            self._refuse("a list")
        return [JsonNode(entry, f"{self.where}[{index}]") for index, entry in enumerate(self.value)]

    def items(self) -> list[tuple[str, JsonNode]]:
        """The entries of a mapping."""
        return [(key, JsonNode(value, f"{self.where}, {key}")) for key, value in self._mapping().items()]

    def texts(self) -> dict[str, str]:
        """A mapping of strings."""
        return {key: node.text() for key, node in self.items()}

    def text(self) -> str:
        """A string."""
        return self.value if isinstance(self.value, str) else self._refuse("a string")

    def number(self) -> float:
        """A finite number that is not negative."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self._refuse("a number")
        if not 0 <= self.value <= 1e18:
            self._refuse("a number of a possible size")
        return float(self.value)

    def count(self) -> int:
        """A whole number that is not negative."""
        number = self.number()
        return int(number) if number.is_integer() else self._refuse("a whole number")

    def _mapping(self) -> dict[str, object]:
        return self.value if isinstance(self.value, dict) else self._refuse("a mapping")

    def _refuse(self, wanted: str) -> NoReturn:
        raise ParseFailure(f"{self.where}: {repr(self.value)[:_SHOWN]} is not {wanted}")


def parse_document(text: str, tool: str) -> JsonNode:
    """The one JSON value that a tool printed. Raises ParseFailure that quotes where it breaks off."""
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()[:_SHOWN]
        problem = f"reads {rest!r}" if rest else "ends" if text.strip() else "is empty"
        raise ParseFailure(f"{tool}'s output {problem} at line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ParseFailure(f"{tool}'s output is not JSON: {error}") from error
    return JsonNode(value, f"{tool}'s output")


def parse_last_line(text: str, tool: str) -> JsonNode:
    """The JSON value on the last line, after whatever a library printed before it. Raises ParseFailure."""
    lines = text.strip().splitlines()
    return parse_document(lines[-1] if lines else "", tool)


def refuse_constant(name: str) -> NoReturn:
    """For `json`: NaN and Infinity are no figures. Raises ValueError."""
    raise ValueError(f"{name} is not a number")
