"""Marks in our own texts, as HTML."""

from __future__ import annotations

from markupsafe import Markup, escape


def mark_code(text: str) -> Markup:
    """Text in which `backticks` mean code."""
    parts = (
        f"<code>{escape(part)}</code>" if odd % 2 else escape(part)
        for odd, part in enumerate(text.split("`"))
    )
    return Markup("".join(parts))  # noqa: S704 - every part was escaped just before
