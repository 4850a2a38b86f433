"""The pages' templates. Jinja takes a tenth of a second to translate them, so this is done at build time.

A translation is only good for the templates that it was made of and for the Jinja that made it, so both are
in its folder's name. Where there is none of that name, as after an edit or an update, Jinja translates again.
`hatch_build.py` imports this file alone.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

PAGES = "*.html.j2"
TRANSLATED = "translated-"
FILTERS = ("counted", "ticked")


def make_environment(folder: Path, filters: Mapping[str, Callable[..., Any]]) -> jinja2.Environment:
    """Jinja for the HTML templates of a folder, translated ones where there are any; `filters`: FILTERS."""
    import jinja2

    there = folder / _name_translation(folder)
    environment = jinja2.Environment(
        loader=jinja2.ModuleLoader(there) if there.is_dir() else jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment


def translate(folder: Path) -> Path:
    """Translate the HTML templates of a folder into one beside them, in one step; the old ones go."""
    there = folder / _name_translation(folder)
    old = [each for each in folder.glob(f"{TRANSLATED}*") if each != there]
    if not there.is_dir():
        part = Path(tempfile.mkdtemp(dir=folder))
        part.chmod(0o755)
        environment = make_environment(folder, dict.fromkeys(FILTERS, _leave_to_the_page))
        environment.compile_templates(part, filter_func=_is_page, zip=None, ignore_errors=False)
        part.rename(there)
    for each in old:
        shutil.rmtree(each)
    return there


def _leave_to_the_page(_: object) -> str:
    """In a filter's place: what raises is not applied to constants now but when a page is written."""
    raise NotImplementedError


def _is_page(name: str) -> bool:
    return "/" not in name and Path(name).match(PAGES)


def _name_translation(folder: Path) -> str:
    from jinja2 import __version__

    digest = hashlib.sha256(__version__.encode())
    for page in sorted(folder.glob(PAGES)):
        digest.update(b"\0".join((b"", page.name.encode(), page.read_bytes())))
    return TRANSLATED + digest.hexdigest()[:16]
