"""The report as one HTML file that asks nothing of the network.

Everything from a record is a stranger's. Jinja escapes it in text; in the data for charts `<`, `>` and `&`
are written as JSON escapes, so that no `</script>` can end the block. Should anything slip through all the
same, the page's Content-Security-Policy lets no script run but the two whose hashes it names: no eval (Vega
interprets its expressions, see https://vega.github.io/vega/usage/interpreter/), no image, no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.analysis.findings import Findings
from steelyard.printable import make_data_printable, make_printable
from steelyard.report.charts.base import Chart
from steelyard.report.charts.theme import DARK, LIGHT, config, format_variables
from steelyard.report.files import write_text
from steelyard.report.gallery import chart_kinds
from steelyard.report.markup import mark_code
from steelyard.report.page import Page, build_page
from steelyard.report.template_cache import make_environment
from steelyard.units import format_count

if TYPE_CHECKING:  # one loads numpy, which few reports need
    import jinja2

    from steelyard.report.sections.comparison import ComparisonSection

TEMPLATES = Path(__file__).parent / "templates"  # vega.js is made when the package is built: hatch_build.py
_UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def write(findings: Findings, path: Path) -> Path:
    """Write the report. Raises StoreError for a damaged record or an unwritable file, UnknownName."""
    return write_text(path, render(build_page(findings)))


def render(content: Page) -> str:
    """The HTML of a report."""
    scripts = [_text("vega.js"), _text("report.js")]
    return _render_template(
        "report.html.j2",
        page=content,
        slots=list(chart_kinds(content.gallery.charts)),
        data=to_inline_json(_charts(content.gallery.charts)),
        scripts=scripts,
        hashes=" ".join(f"'sha256-{_sha256(script)}'" for script in scripts),
    )


def render_comparison(part: ComparisonSection, title: str) -> str:
    """The HTML of a comparison alone."""
    return _render_template("compare.html.j2", part=part, title=title)


@cache
def _make_templates() -> jinja2.Environment:
    """One for all pages of a process: Jinja's loader stands in `sys.modules` until it is collected."""
    return make_environment(TEMPLATES, {"counted": format_count, "ticked": mark_code})


def _render_template(template: str, **content: Any) -> str:
    style = format_variables() + _text("report.css")
    return make_printable(_make_templates().get_template(template).render(style=style, **content))


def to_inline_json(data: Any) -> str:
    """JSON that may stand inside a `<script>` element, whatever texts it holds."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def _charts(charts: Mapping[str, Chart]) -> dict[str, Any]:
    """All charts and their tables; several charts share a table."""
    tables = {name: _pack(rows) for chart in charts.values() for name, rows in chart.data.items()}
    specs = {
        key: {"title": chart.title, "wide": chart.wide, "narrow": chart.narrow, "uses": list(chart.data)}
        for key, chart in charts.items()
    }
    drawn = make_data_printable({"charts": specs, "tables": tables})
    return {**drawn, "light": config(LIGHT), "dark": config(DARK)}


def _pack(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A table column by column; texts that come again and again stand once, with their places."""
    return {name: _column([row[name] for row in rows]) for name in rows[0]} if rows else {}


def _column(values: list[Any]) -> Any:
    if not all(isinstance(value, str) for value in values):
        return values
    places = {text: place for place, text in enumerate(dict.fromkeys(values))}
    if len(places) > len(values) // 2:
        return values
    return {"texts": list(places), "at": [places[value] for value in values]}


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
