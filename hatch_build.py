"""What is made for the HTML report when the package is built or installed for editing."""

from __future__ import annotations

import os
import tempfile
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import vl_convert
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REPORT = Path("src/steelyard/report")
SCRIPT = REPORT / "templates/vega.js"


class ReportParts(BuildHookInterface):
    """What takes long to make and is always the same."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the charts' script and the translated templates beside the templates."""
        root = Path(self.root)
        _bundle(root / SCRIPT)
        translated = _translate(root / REPORT)
        build_data["artifacts"] += [str(SCRIPT), f"{translated.relative_to(root)}/*.py"]


def _bundle(script: Path) -> None:
    """Vega, Vega-Lite and Vega-Embed as one script, in one step: a report may be written meanwhile."""
    with tempfile.NamedTemporaryFile("w", dir=script.parent, delete=False, encoding="utf-8") as part:
        part.write(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
        os.fchmod(part.fileno(), 0o644)
    Path(part.name).replace(script)


def _translate(report: Path) -> Path:
    """The file alone, as the package cannot be imported yet."""
    loader = SourceFileLoader("template_cache", str(report / "template_cache.py"))
    module = types.ModuleType(loader.name)
    loader.exec_module(module)
    translated: Path = module.translate(report / "templates")
    return translated
