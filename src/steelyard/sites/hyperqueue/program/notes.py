"""What a job's task and the commands tell each other, through files beside the server's access key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


class Notes:
    """The notes of one job, in a directory of its own user's."""

    def __init__(self, directory: Path, job: str) -> None:
        self._facts, self._cancel = directory / f"{job}.json", directory / f"{job}.cancel"

    def read(self) -> dict[str, Any]:
        """The facts of a job that has started; nothing of one that has not."""
        try:
            return dict(json.loads(self._facts.read_text()))
        except FileNotFoundError:
            return {}

    def write(self, **facts: Any) -> None:
        """Replace the facts, as a whole."""
        new = self._facts.with_suffix(".new")
        new.write_text(json.dumps(facts))
        new.replace(self._facts)

    def prepare(self) -> None:
        """Have the file there that asks to cancel: file servers show new content at once, new names later."""
        self._cancel.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._cancel.touch(mode=0o600)

    def ask_to_cancel(self) -> None:
        """Have the task end the job, now or when it starts."""
        self.prepare()
        self._cancel.write_text("cancel\n")

    @property
    def is_cancelled(self) -> bool:
        """Whether the job is to be ended."""
        try:
            return bool(self._cancel.read_bytes())
        except FileNotFoundError:
            return False


class JobNames:
    """Which jobs bear a name, in the order of their submission."""

    def __init__(self, directory: Path, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise SystemExit(f"'{name[:60]}' is not the name of a job")
        self._file = directory / "names" / name

    def read(self) -> list[int]:
        """Their ids."""
        try:
            return [int(line) for line in self._file.read_text().splitlines()]
        except FileNotFoundError:
            return []

    def add(self, job: int) -> None:
        """One more. Several may be added at once: so short a line is written whole."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._file.open("a") as file:
            file.write(f"{job}\n")
