"""What is told."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Event = Literal[
    "finished", "not-met", "undecided", "regressed", "failed", "host-lost", "interrupted", "alert"
]


class Notice(NamedTuple):
    """`title` is one line, `text` what a person reads, its first line the title again."""

    event: Event
    title: str
    text: str
    run: str
    experiment: str

    def to_document(self) -> dict[str, Any]:
        """As JSON; `text` and `content` are what chat services show."""
        return {**self._asdict(), "content": self.text}
