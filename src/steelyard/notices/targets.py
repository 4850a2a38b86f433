"""Where notices go: read from what the user wrote, before the run begins.

A target may hold a secret (the path of a webhook is one), so none is ever recorded or printed: `label` is
what people are told of it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from steelyard.errors import UnknownName, UsageError
from steelyard.trust import check_ownership, find_config
from steelyard.untrusted import read_content

VARIABLE = "STEELYARD_NOTIFY"
NTFY = "ntfy:"
_HINT = "give an http(s) URL, ntfy:URL, a command, or a name from ~/.config/steelyard/notify.yaml"


@dataclass(frozen=True, slots=True)
class Target:
    """A `webhook` gets JSON, `ntfy` text, a `command` text on its standard input."""

    kind: Literal["webhook", "ntfy", "command"]
    label: str
    url: str = field(default="", repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)


def list_targets(given: Iterable[str]) -> list[Target]:
    """Those of `--notify`, else of STEELYARD_NOTIFY, one a line. Raises UsageError, UnknownName."""
    lines = list(given) or os.environ.get(VARIABLE, "").splitlines()
    texts = [line.strip() for line in lines if line.strip()]
    names = _read_names() if texts else {}
    return [_parse(text, names) for text in texts]


def _parse(text: str, names: Mapping[str, str]) -> Target:
    if text in names:
        return _parse(names[text], {})
    if text.startswith(NTFY):
        url = text.removeprefix(NTFY)
        return Target("ntfy", _check_url(url), url)
    if "://" in text.split(maxsplit=1)[0]:
        return Target("webhook", _check_url(text), text)
    return _parse_command(text, names)


def _check_url(url: str) -> str:
    """What may be said of it. Raises UsageError where it is none."""
    parts = urlsplit(url)
    try:
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or any(letter.isspace() for letter in url):
        raise UsageError(f"--notify: {parts.scheme or 'this'}:… is no http or https URL", hint=_HINT)
    return str(parts.hostname)


def _parse_command(text: str, names: Mapping[str, str]) -> Target:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--notify: the command cannot be read: {error}", hint=_HINT) from error
    if not shutil.which(words[0]):
        raise UnknownName("target of --notify", words[0], names, hint=_HINT)
    return Target("command", Path(words[0]).name, words=tuple(words))


def _read_names() -> dict[str, str]:
    """Targets by their names, from a file that nobody else may write."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    path = find_config("notify.yaml")
    if not path.exists():
        return {}
    check_ownership(path, "the list of targets")
    try:
        content = YAML(typ="safe").load(read_content(path).decode())
    except (OSError, ValueError, YAMLError) as error:
        raise UsageError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise UsageError(f"{path} must name targets: a line for each, such as 'phone: ntfy:https://…'")
    return {str(name): value for name, value in content.items()}
