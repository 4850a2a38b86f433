"""The report as Markdown, with its charts as SVG files in a folder beside it.

Everything from a record is a stranger's, and not every Markdown viewer removes HTML: whatever a template
prints is escaped, unless it was made `Raw` here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from steelyard.analysis.findings import Findings
from steelyard.errors import UsageError
from steelyard.printable import make_data_printable, make_printable
from steelyard.report.charts.base import Chart
from steelyard.report.charts.hosts import PANELS
from steelyard.report.charts.theme import LIGHT, config
from steelyard.report.files import write_text
from steelyard.report.gallery import Gallery
from steelyard.report.page import Page, build_page
from steelyard.report.sections.comparison import ComparisonSection
from steelyard.report.wording import format_list
from steelyard.units import format_count

TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 760
MOST_LATENCIES = 4
MOST_DERIVED = 24
_SPECIAL = re.compile(r"[\\`*\[\]#|~{}$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")

_LIST = re.compile(r"^(\d+(?=[.)](?:\s|$))|)([-+>=.)])")  # what would begin a list, a quote or a heading


class Raw(str):
    """Markdown that is meant as it stands."""

    __slots__ = ()


def write(findings: Findings, path: Path) -> Path:
    """Write the report and its charts (in `<name>-charts`).

    Raises as `html.write`, and UsageError where nothing can draw.
    """
    _check_drawing()
    content = build_page(findings)
    folder = path.with_name(f"{path.stem}-charts")
    pictures: dict[str, list[tuple[str, str]]] = {}
    for key, chart in _select_printed(content.gallery):
        name = f"{key.replace('/', '-')}.svg"
        drawn = render_svg(chart)
        if drawn is None:
            continue
        write_text(folder / name, drawn)
        pictures.setdefault(_kind(content.gallery, key), []).append((chart.title, f"{folder.name}/{name}"))
    return write_text(path, render(content, pictures))


def _check_drawing() -> None:
    if not find_spec("vl_convert"):
        raise UsageError(
            "a Markdown report has SVG charts, and vl-convert, which draws them, is not installed",
            hint="run `pip install steelyard[svg]`, or write the HTML report, which needs nothing more",
        )


def render(content: Page, pictures: dict[str, list[tuple[str, str]]]) -> str:
    """The Markdown of a report; `pictures` by kind of chart, see `_kind`: title and path."""
    return _render_template(
        "report.md.j2",
        page=content,
        pictures=pictures,
        panels=[panel.key for panel in PANELS if panel.key in pictures],
        collected=[kind for kind in pictures if kind.startswith("collected")],
        over_time=[kind for kind in pictures if kind.startswith("over")],
    )


def render_comparison(part: ComparisonSection, title: str) -> str:
    """The Markdown of a comparison alone."""
    return _render_template("compare.md.j2", part=part, title=title)


def _render_template(template: str, **content: Any) -> str:
    import jinja2

    environment = jinja2.Environment(  # noqa: S701 - this is not HTML; `finalize` escapes for Markdown
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, Raw) else escape(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "counted": format_count,
        "ticked": mark_code,
        "fenced": fence_code,
        "listed": format_list,
        "path": _path,
        "raw": Raw,
    }
    return make_printable(environment.get_template(template).render(**content))


def _kind(gallery: Gallery, key: str) -> str:
    """Where a picture stands: the headline, each derived one on its own, the others by what they show."""
    if key == gallery.headline_key:
        return "headline"
    return key.replace("/", "-") if key.startswith("derived/") else key.partition("/")[0]


def render_svg(chart: Chart) -> str | None:
    """A chart as a picture on white; None when it cannot be drawn, which must not cost the report."""
    import vl_convert

    # vl-convert ends the whole process when the picture is no XML, which has no control characters.
    spec = make_data_printable(
        {**chart.wide, "width": WIDTH, "autosize": "pad", "datasets": dict(chart.data)}
    )
    try:
        return str(vl_convert.vegalite_to_svg(spec, config={**config(LIGHT), "background": LIGHT.paper}))
    except ValueError:
        return None


def escape(text: str) -> str:
    """One line of Markdown in which the text means nothing but itself, in a table as well."""
    line = _SPECIAL.sub(lambda special: "\\" + special[0], _line(text))
    return _LIST.sub(r"\1\\\2", line.replace("&", "&amp;").replace("<", "&lt;"))


def mark_code(text: str) -> Raw:
    """Text in which `backticks` mean code."""
    parts = enumerate(text.split("`"))
    shown = (f"`{_line(part)}`" if odd % 2 and part.strip() else escape_part(part) for odd, part in parts)
    return Raw("".join(shown))


def quote_code(text: str) -> Raw:
    """A text as code on one line; it loses its backticks."""
    return Raw(f"`{_line(text.replace('`', ''))}`")


def escape_part(text: str) -> str:
    """As `escape`, but the blanks at both ends stay."""
    inner = escape(text)
    return f"{' ' if text[:1].isspace() else ''}{inner}{' ' if inner and text[-1:].isspace() else ''}"


def fence_code(text: str) -> Raw:
    """A block of code whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Raw(f"{fence}\n{text.rstrip()}\n{fence}")


def _line(text: str) -> str:
    """On one line: an empty one would end whatever the text stands in."""
    return " ".join(text.split())


def _path(text: str) -> Raw:
    """The place of a picture: the names are ours, the folder's blanks are not."""
    return Raw("<" + text.replace("<", "%3C").replace(">", "%3E") + ">")


def _select_printed(gallery: Gallery) -> Iterator[tuple[str, Chart]]:
    """The charts worth printing: the leading metrics, each parameter for them, all latencies, one trial."""
    for key, chart in gallery.charts.items():
        kind, number, *_ = key.split("/")
        if int(number) < {
            "distribution": gallery.leading,
            "against": gallery.leading,
            "percentiles": MOST_LATENCIES,
            "derived": MOST_DERIVED,
        }.get(kind, 1):
            yield key, chart
