"""The looks of charts: two Vega-Lite configurations, for light and for dark pages.

Colours are told apart with any colour vision: hues after Okabe & Ito, Color Universal Design (2008), some
lightened for the dark page; levels that are numbers take a ramp of the viridis kind instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"


class Palette(NamedTuple):
    """The inks of a page."""

    paper: str
    ink: str
    soft: str
    line: str
    accent: str
    good: str
    bad: str
    open: str
    hues: tuple[str, ...]
    ramp: tuple[float, float]


LIGHT = Palette(
    paper="#ffffff",
    ink="#1b2126",
    soft="#5b666f",
    line="#e1e5e8",
    accent="#0b5f94",
    good="#00734f",
    bad="#b5410b",
    open="#8a6100",
    hues=("#0072b2", "#d55e00", "#009e73", "#a64d86", "#c98500", "#3d9bd1", "#5b666f", "#7a5c1e"),
    ramp=(0.0, 0.86),
)
DARK = Palette(
    paper="#14181b",
    ink="#e6eaed",
    soft="#9aa5ad",
    line="#2b3237",
    accent="#6cb8ea",
    good="#4fcfa8",
    bad="#f4935c",
    open="#e8b33c",
    hues=("#56b4e9", "#f08a4b", "#2fc79b", "#dd92bd", "#e8b33c", "#a8d5f2", "#9aa5ad", "#c9ab6b"),
    ramp=(0.22, 1.0),
)


def format_variables() -> str:
    """The inks of pages as variables of CSS, for light and for dark, the same as those of their charts."""
    return _format_inks(LIGHT) + f"@media (prefers-color-scheme: dark) {{ {_format_inks(DARK)} }}\n"


def config(palette: Palette) -> dict[str, Any]:
    """A Vega-Lite configuration; the styles that it names are those that `charts` uses."""
    return {
        "background": None,
        # To describe each mark, Vega-Lite would put titles into expressions; a stranger's could break them.
        "aria": False,
        "font": FONT,
        "padding": {"left": 2, "top": 2, "right": 14, "bottom": 2},
        "view": {"stroke": None},
        "axis": _axis(palette),
        "legend": _legend(palette),
        "title": {
            "color": palette.ink,
            "subtitleColor": palette.soft,
            "anchor": "start",
            "fontSize": 13,
            "fontWeight": 600,
            "subtitleFontSize": 11.5,
            "subtitlePadding": 4,
            "offset": 10,
        },
        "range": {
            "category": list(palette.hues),
            "ordinal": {"scheme": "viridis", "extent": list(palette.ramp)},
        },
        "line": {"strokeWidth": 2, "strokeJoin": "round"},
        "style": _styles(palette),
    }


def _format_inks(palette: Palette) -> str:
    names = ("paper", "ink", "soft", "line", "accent", "good", "bad", "open")
    return ":root { " + " ".join(f"--{name}: {getattr(palette, name)};" for name in names) + " }"


def _axis(palette: Palette) -> dict[str, Any]:
    return {
        "labelColor": palette.soft,
        "titleColor": palette.ink,
        "titleFontWeight": 500,
        "titleFontSize": 12,
        "titlePadding": 10,
        "labelFontSize": 11,
        "labelPadding": 6,
        "labelFlush": False,
        "labelSeparation": 8,
        "gridColor": palette.line,
        "domainColor": palette.line,
        "tickColor": palette.line,
        "ticks": False,
        "domain": False,
    }


def _legend(palette: Palette) -> dict[str, Any]:
    return {
        "orient": "top",
        "labelColor": palette.soft,
        "titleColor": palette.ink,
        "titleFontWeight": 500,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "symbolStrokeWidth": 2,
        "columnPadding": 14,
        "labelLimit": 220,
    }


def _styles(palette: Palette) -> dict[str, Any]:
    return {
        "trial": {"strokeWidth": 1.4, "size": 34, "opacity": 0.85},
        "interval": {"color": palette.ink, "strokeWidth": 1.6, "strokeCap": "round"},
        "median": {"color": palette.ink, "opacity": 1},
        "quiet": {"color": palette.soft, "strokeWidth": 1, "opacity": 0.3},
        "single": {"color": palette.accent},
        "good": {"color": palette.good},
        "bad": {"color": palette.bad},
        "open": {"color": palette.open},
    }
