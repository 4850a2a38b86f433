"""`make pages`: write every generated page of docs/."""

from __future__ import annotations

from scripts.pages import DOCS, pages

for path, text in pages().items():
    (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
    (DOCS / path).write_text(text)
