"""Send a notice; that one cannot be sent spoils nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from steelyard.notices.notice import Notice
from steelyard.notices.targets import Target
from steelyard.printable import make_one_line, make_printable

PATIENCE = 10.0
"""Seconds for a server to answer; a command may take three times as long."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A secret path is sent to no other server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None: the redirection is an error."""


def send(notice: Notice, target: Target) -> str:
    """Why it could not be sent; empty where it was. Never raises."""
    try:
        if target.kind == "command":
            return _run(notice, target)
        _post(notice, target)
    except (OSError, HTTPException, ValueError) as error:
        return make_one_line(str(error))[:200] or type(error).__name__
    return ""


def _post(notice: Notice, target: Target) -> None:
    if target.kind == "ntfy":
        data = make_printable(notice.text).encode()
        headers = {"Title": make_one_line(notice.title).encode("ascii", "replace").decode()}
    else:
        data = json.dumps(notice.to_document()).encode()
        headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(target.url, data, {"User-Agent": "steelyard", **headers})  # noqa: S310 - checked
    opener = urllib.request.build_opener(_NoRedirects)
    with opener.open(request, timeout=PATIENCE) as answer:
        answer.read(1024)


def _run(notice: Notice, target: Target) -> str:
    """Its words may name `{title}`, `{event}`, `{run}` and `{experiment}`."""
    fields = {name: make_one_line(str(value)) for name, value in notice._asdict().items() if name != "text"}
    words = [_fill(word, fields) for word in target.words]
    environment = {
        **os.environ,
        **{f"STEELYARD_NOTICE_{name.upper()}": text for name, text in fields.items()},
    }
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        words, stdin=pipe, stdout=nowhere, stderr=nowhere, env=environment, start_new_session=True
    ) as process:
        try:
            process.communicate(f"{make_printable(notice.text)}\n".encode(), timeout=3 * PATIENCE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return f"it did not end within {3 * PATIENCE:g} s"
    return f"it ended with code {process.returncode}" if process.returncode else ""


def _fill(word: str, fields: dict[str, str]) -> str:
    for name, text in fields.items():
        word = word.replace(f"{{{name}}}", text)
    return word
