"""Where drafts are kept: `<store>/experiments/NAME.yaml`, each a file that `steelyard run` takes as it is."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.errors import StoreError, UnknownName
from steelyard.files import write_whole
from steelyard.store.layout import Store
from steelyard.untrusted import read_content

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
MOST = 1 << 20


class SavedDrafts:
    """The drafts of a store."""

    def __init__(self, store: Store) -> None:
        self.folder = store.root / "experiments"

    def list_names(self) -> list[str]:
        """The newest first."""
        try:
            files = sorted(self.folder.glob("*.yaml"), key=lambda path: path.lstat().st_mtime, reverse=True)
        except OSError:
            return []
        return [path.stem for path in files if _NAME.fullmatch(path.stem)]

    def read(self, name: str) -> str:
        """The text of a draft. Raises UnknownName."""
        try:
            if not _NAME.fullmatch(name):
                raise FileNotFoundError(name)
            return read_content(self.folder / f"{name}.yaml", MOST).decode("utf-8", "replace")
        except OSError as error:
            raise UnknownName("draft", name, self.list_names()) from error

    def save(self, text: str, title: str, *, over: str = "") -> str:
        """Keep a text under its title, or `over` one of this name; the name. Raises StoreError."""
        wanted = _NOT_IN_A_NAME.sub("-", title).strip("-._")[:56] or "draft"
        name = over if over == wanted or re.fullmatch(rf"{re.escape(wanted)}-\d+", over) else ""
        name = name or self._choose_free(wanted, text)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self.folder / f"{name}.yaml", text.encode("utf-8", "replace"), mode=0o600)
        except OSError as error:
            raise StoreError(f"cannot save {name}: {error.strerror or error}") from error
        return name

    def find(self, name: str) -> Path:
        """The file of a draft. Raises UnknownName."""
        self.read(name)
        return self.folder / f"{name}.yaml"

    def _choose_free(self, wanted: str, text: str) -> str:
        """Its own name where nobody has it, or who has it says the same."""
        name, number = wanted, 1
        while (self.folder / f"{name}.yaml").exists() and self.read(name) != text:
            number += 1
            name = f"{wanted}-{number}"
        return name
