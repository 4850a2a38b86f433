from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.findings import Findings
from steelyard.errors import UsageError
from steelyard.report import markdown
from steelyard.report.markdown import escape, fence_code, mark_code

SVG = "{http://www.w3.org/2000/svg}"


def test_the_report_and_its_charts_are_written_beside_each_other(rich, tmp_path):
    path = markdown.write(Findings(rich), tmp_path / "a b.md")
    text = path.read_text()
    pictures = re.findall(r"!\[.*?\]\(<(.*?)>\)", text)
    assert {name.split("/")[1].split("-")[0] for name in pictures} == {
        "distribution",
        "against",
        "percentiles",
        "cpu",
        "disk",
    }
    for name in pictures:
        assert ElementTree.parse(tmp_path / name).getroot().tag == f"{SVG}svg"
    assert {p.name for p in (tmp_path / "a b-charts").iterdir()} == {name.split("/")[1] for name in pictures}


def test_the_sections_are_those_of_the_html_report(rich, tmp_path):
    text = markdown.write(Findings(rich), tmp_path / "a.md").read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "Answer", "Results", "Requirements", "Latency", "Telemetry of a trial", "Disturbed and failed trials",
        "Test setup", "Environment", "Method", "Files and versions",
    ]  # fmt: skip


def test_every_table_has_as_many_cells_in_each_row(rich, tmp_path):
    lines = markdown.write(Findings(rich), tmp_path / "a.md").read_text().splitlines()
    tables, previous = 0, ""
    for line in lines:
        if line.startswith("|") and previous.startswith("|"):
            assert line.count("|") == previous.count("|"), (previous, line)
        tables += line.startswith("| ---") or line.startswith("| ---:")
        previous = line
    assert tables == 7


def test_charts_show_as_many_marks_as_there_are_trials_and_cells(rich, tmp_path):
    markdown.write(Findings(rich), tmp_path / "a.md")
    root = ElementTree.parse(tmp_path / "a-charts" / "distribution-0.svg").getroot()

    def marks(name):
        (group,) = [g for g in root.iter(f"{SVG}g") if f"{name}_marks" in g.get("class", "")]
        return len(list(group.iter(f"{SVG}path"))) + len(list(group.iter(f"{SVG}line")))

    assert marks("trials") == 47
    assert marks("intervals") == marks("medians") == 6


def test_a_stranger_can_add_no_tag(hostile, tmp_path):
    text = markdown.write(Findings(hostile), tmp_path / "a.md").read_text(encoding="utf-8")
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<img" not in outside
    assert "&lt;img src=x" in outside
    for path in (tmp_path / "a-charts").iterdir():
        tags = {element.tag.removeprefix(SVG) for element in ElementTree.parse(path).iter()}
        assert tags <= {"svg", "g", "path", "text", "line", "rect", "defs", "clipPath"}


def test_a_fence_is_longer_than_what_it_holds():
    assert fence_code("a\n````\nb") == "`````\na\n````\nb\n`````"


@pytest.mark.parametrize("text", ["`a\n\n<img src=x>`", "`a\r\r<img src=x>`", "a\n\n<img src=x> `b`"])
def test_an_empty_line_ends_no_code(text):
    assert len(mark_code(text).splitlines()) == 1
    assert "<img" not in re.sub(r"`[^`]*`", "", mark_code(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$x$", r"\$x\$"),
        ("write_bandwidth", "write_bandwidth"),
        ("_all_", r"\_all\_"),
        ("a | b", r"a \| b"),
        ("# no heading", r"\# no heading"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("1.25 ms", "1.25 ms"),
        ("-1.25", r"\-1.25"),
        ("two\nlines", "two lines"),
        ("<b> & `c`", r"&lt;b> &amp; \`c\`"),
    ],
)
def test_text_means_only_itself(text, expected):
    assert escape(text) == expected


@given(text=st.text())
def test_escaped_text_is_one_line_without_tags(text):
    found = escape(text)
    assert "<" not in found
    assert len(found.splitlines()) <= 1
    assert not re.search(r"(?<!\\)(?:\\\\)*[`|*]", found.replace("\\\\", ""))


def test_without_a_drawer_nothing_is_written(rich, tmp_path, monkeypatch):
    monkeypatch.setattr(markdown, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="vl-convert") as refused:
        markdown.write(Findings(rich), tmp_path / "report.md")
    assert "steelyard[svg]" in refused.value.hint
    assert not list(tmp_path.iterdir())
