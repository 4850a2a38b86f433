"""No folder of the program is a hall: who looks for a line of code finds its room by the folders' names."""

from __future__ import annotations

from pathlib import Path

import steelyard
from steelyard.plugins import builtin_names
from steelyard.report.template_cache import TRANSLATED
from steelyard.spec.kinds import KINDS

ROOT = Path(steelyard.__file__).parent
MOST = 25
ENTRIES = {kind.folder: set(builtin_names(kind.folder)) for kind in KINDS.values()}


def is_command(path: Path) -> bool:
    """Whether a file of the command line is one command, which its name is."""
    return path.is_relative_to(ROOT / "cli") and path.read_text().startswith('"""`steelyard ')


def others(folder: Path) -> list[str]:
    """The files of a folder that are neither entries of the catalogue nor commands."""
    entries = ENTRIES.get(folder.name, set()) if folder.parent == ROOT else set()
    return [path.name for path in folder.glob("*.py") if path.stem not in entries and not is_command(path)]


def test_no_folder_has_more_files_than_one_overlooks():
    folders = [ROOT, *(path for path in ROOT.rglob("*") if path.is_dir() and path.name != "__pycache__")]
    assert len(folders) > 30
    assert not {str(one.relative_to(ROOT)): len(others(one)) for one in folders if len(others(one)) > MOST}


def test_every_folder_with_code_says_what_it_is_for():
    folders = {path.parent for path in ROOT.rglob("*.py") if TRANSLATED not in str(path)}
    silent = [one for one in folders if not (one / "__init__.py").read_text().startswith('"""')]
    assert not silent
