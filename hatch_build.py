"""What is made when the package is built or installed for editing: the charts' script of the HTML report."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import vl_convert
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = "src/steelyard/report/templates/vega.js"


class ChartScript(BuildHookInterface):
    """Vega, Vega-Lite and Vega-Embed as one script: it takes two seconds to make and is always the same."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the script beside its template, in one step: a report may be written meanwhile."""
        script = Path(self.root, SCRIPT)
        with tempfile.NamedTemporaryFile("w", dir=script.parent, delete=False, encoding="utf-8") as part:
            part.write(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
            os.fchmod(part.fileno(), 0o644)
        Path(part.name).replace(script)
        build_data["artifacts"].append(SCRIPT)
