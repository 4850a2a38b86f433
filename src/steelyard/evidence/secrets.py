"""Keep secrets out of records. Where it is unsure, it takes out too much."""

from __future__ import annotations

import re

HIDDEN = "***"
_WORD = re.compile(r"pass|pwd|secret|token|credential|key|auth|cookie|signature", re.IGNORECASE)
_TOKEN = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_SIGN = re.compile("[=:]")


def redact(text: str) -> str:
    """A line (kernel command line, version of a tool) without the values of what looks like a secret.

    That is `name=value` and `name:value` where the name holds a word such as password, token or key,
    `--password value`, and what stands before the @ of a URL. A quoted value may hold blanks.
    """
    words: list[str] = []
    hide_next = False
    for token in _TOKEN.findall(text):
        hidden = hide_next and not token.startswith("-")
        words.append(HIDDEN if hidden else redact_value(redact_login(token)))
        hide_next = token.startswith("-") and bool(_WORD.search(token)) and not _SIGN.search(token)
    return " ".join(words)


def redact_value(token: str) -> str:
    """`password=x` as `password=***`; everything after the sign is taken for the value."""
    word = _WORD.search(token)
    sign = _SIGN.search(token, word.end()) if word else None
    return token[: sign.end()] + HIDDEN if sign else token


def redact_login(text: str) -> str:
    """`//user:password@host/x` as `//***@host/x`, `user:password@host` as `***@host`."""
    before, at, after = text.rpartition("@")
    start, slashes, _ = before.partition("//")
    if slashes:
        return f"{start}//{HIDDEN}@{after}"
    user, colon, _ = before.partition(":")
    return f"{HIDDEN}@{after}" if at and colon and "/" not in user else text


def redact_options(text: str) -> tuple[str, ...]:
    """Mount options without secrets. A password may hold commas, so nothing is kept after one."""
    kept: list[str] = []
    for option in text.split(","):
        shown = redact_value(redact_login(option))
        kept.append(shown[:200])
        if shown.endswith(HIDDEN):
            break
    return tuple(kept)
