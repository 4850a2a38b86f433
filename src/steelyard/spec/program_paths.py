"""Programs and scripts that lie beside the experiment file: how `run` finds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.model.keys.reference import FOLDER, Known


def resolve_paths(words: Sequence[Any], known: Known) -> list[Any]:
    """The words with the path of each file that is meant: `./server`, `../tools/load.py`, and the first other
    word after the program, as in `python3 server.py`. What does not lie there stays as it is.

    Only that word, since further ones may well be files that the program makes in its scratch.
    """
    folder = known.get(FOLDER)
    if folder is None or not words:
        return list(words)
    first = next((at for at, word in enumerate(words) if at and not str(word).startswith("-")), None)
    return [_resolve_word(Path(str(folder)), word, bare=at == first) for at, word in enumerate(words)]


def _resolve_word(folder: Path, word: Any, *, bare: bool) -> Any:
    if not isinstance(word, str):
        return word
    named = word.startswith(("./", "../")) or (bare and "." in word)
    path = folder / word
    try:
        return str(path) if named and path.is_file() else word
    except (OSError, ValueError):  # a word that can be no file's name
        return word
