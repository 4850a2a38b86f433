"""What `use` and `do` name: an entry of the catalogue, or a file beside the experiment that is a plug-in."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import ClassVar, Self

from pydantic import PrivateAttr

from steelyard.model.part import Part


def is_file(name: str) -> bool:
    """Whether a name is a path, such as `./server.py` or `./server` of a folder; no entry is called so."""
    return "/" in name or name.endswith(".py")


def short_name(name: str) -> str:
    """What a plug-in is called where a path would be too long: `server` for `./server.py`."""
    return PurePosixPath(name).name.removesuffix(".py") if is_file(name) else name


class PlugInUse(Part):
    """A part of an experiment that names a plug-in, under `plugin_key`."""

    plugin_key: ClassVar[str] = "use"
    _folder: Path | None = PrivateAttr(None)

    @property
    def plugin(self) -> str:
        """The name by which `plugins.find` knows it; a file's path begins at the experiment's folder."""
        name: str = getattr(self, self.plugin_key)
        return str(self._folder / name) if self._folder and is_file(name) else name

    def with_folder(self, folder: Path) -> Self:
        """The same with the folder of the experiment's file, if that may matter."""
        name: str = getattr(self, self.plugin_key)
        if not is_file(name) and "${" not in name:
            return self
        use = self.model_copy()
        use._folder = folder
        return use
