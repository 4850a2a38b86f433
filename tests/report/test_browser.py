"""The HTML report in a real browser, without a network: what is drawn, what it says, how it behaves."""

from __future__ import annotations

import shutil

import pytest

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric
from steelyard.report import html

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


@pytest.fixture
def page(browser, rich_report):
    """The report of the rich run, on a desk."""
    browser.open(rich_report)
    return browser


def marks(page, figure, name):
    """How many marks of a layer a figure shows; `g.trials_marks` holds those of the layer `trials`."""
    return page.evaluate(f"document.querySelectorAll('#{figure} g.{name}_marks > :is(path, line)').length")


def change(page, name, value):
    page.evaluate(
        f"(() => {{ const select = document.querySelector('select[data-choose={name}]');"
        f" select.value = '{value}'; select.dispatchEvent(new Event('change')); }})()"
    )


def choose(page, name, value, figure):
    """Choose in a list as a user would, and wait until the figure has followed."""
    change(page, name, value)
    template = page.evaluate(f"document.querySelector('#{figure}').dataset.chart")
    choices = {"metric": "0", "parameter": "0", name: value}
    page.wait(f"document.querySelector('#{figure}').dataset.drawn === '{template.format_map(choices)}'")


def tip(page, selector):
    """What is shown when the mouse points at an element: names and texts."""
    # Scrolling hides what is shown, and it takes until the next frame.
    page.evaluate(
        f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}}),"
        " new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    box = page.evaluate(
        f"(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    page.point_at(*box)
    page.wait("!document.getElementById('tip').hidden")
    texts = page.evaluate("[...document.getElementById('tip').children].map((child) => child.textContent)")
    return dict(zip(texts[::2], texts[1::2], strict=True))


def test_there_are_as_many_marks_as_trials_and_cells(page, rich):
    measured = [trial for trial in rich.trials if trial.result.status == "ok"]
    assert marks(page, "distribution", "trials") == len(measured) == 47
    assert marks(page, "distribution", "medians") == len(rich.cells) == 6
    assert marks(page, "distribution", "intervals") == 6
    assert marks(page, "against", "medians") == marks(page, "against", "intervals") == 6
    assert page.evaluate("document.querySelectorAll('#percentiles g.mark-line path').length") == 6
    assert page.evaluate("document.querySelectorAll('#hosts figure:not(.nothing) svg').length") == 2
    assert page.evaluate("document.querySelectorAll('#cells tbody tr').length") == 6


def test_a_tooltip_says_what_the_store_says(page, rich):
    shown = tip(page, "#distribution g.trials_marks > path")
    trial = next(trial for trial in rich.trials if trial.number == int(shown["trial"]))
    assert shown["cell"] == trial.result.trial.cell.key
    assert f"(exactly {trial.result.metrics['write_bandwidth']!r} B/s)" in shown["value"]
    shown = tip(page, "#against g.medians_marks > path")
    cell = next(cell for cell in summarise_run(rich).cells if cell.cell.key == shown["cell"])
    assert f"(exactly {cell.metrics['write_bandwidth'].summary.median!r} B/s)" in shown["median"]
    assert shown["trials"] == str(cell.n)
    assert set(tip(page, "#percentiles g.points_marks > path")) == {"cell", "share", "took at most"}


def test_nothing_is_asked_for_and_nothing_is_complained_of(page, rich_report):
    assert page.requests == [rich_report.as_uri()]
    assert page.errors == []


@pytest.mark.parametrize("width", [390, 768, 1200])
def test_nothing_is_wider_than_the_screen(browser, rich_report, width):
    browser.open(rich_report, width=width, height=844)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    box = browser.evaluate(
        "(() => { const b = document.querySelector('.box'); return [b.clientWidth, b.scrollWidth]; })()"
    )
    assert box[0] <= width
    assert width > 1000 or box[1] > box[0]  # the table scrolls inside its own box
    assert marks(browser, "distribution", "trials") == 47
    assert browser.errors == []


def test_long_names_do_not_squeeze_the_charts_away(browser, build, tmp_path):
    name = "sequential_write_with_many_outstanding_operations_completion_latency_p999"
    record = build(
        parameters={
            "file_system_and_mount_options": ["ext4 with data=writeback and barriers", "xfs"],
            "b": [1, 2],
        },
        metrics=[Metric(name, "s", "lower")],
        figures=lambda cell, repetition, rng: {name: rng.random()},
        histograms=lambda *_: {name: {0.1: 5, 0.2: 7}},
    )
    browser.open(html.write(Findings(record), tmp_path / "report.html"), width=390, height=844)
    for figure in ("distribution", "against", "percentiles"):
        plot = f"document.querySelector('#{figure} .role-frame path.background')"
        assert browser.evaluate(f"{plot}.getBoundingClientRect().width") > 200
    assert browser.evaluate("document.documentElement.scrollWidth") == 390


def test_the_head_of_the_table_stays_in_sight(browser, build, tmp_path):
    browser.open(html.write(Findings(build(parameters={"a": list(range(60))})), tmp_path / "report.html"))
    tops = browser.evaluate(
        "(() => { const box = document.querySelector('.box'); box.scrollTop = 900;"
        " const parts = [box, box.querySelector('thead th')];"
        " return parts.map((one) => Math.round(one.getBoundingClientRect().top)); })()"
    )
    assert tops[1] - tops[0] <= 1


COLOURS = (
    "['body', '.role-axis-label text', 'g.trials_marks > path', 'g.medians_marks > path'].map((one) => {"
    " const style = getComputedStyle(document.querySelector(one));"
    " return one === 'body' ? style.backgroundColor : `${style.fill} ${style.stroke}`; })"
)


def test_dark_pages_have_other_colours_also_when_switched(page):
    light = page.evaluate(COLOURS)
    page.evaluate("document.querySelectorAll('figure').forEach((figure) => { delete figure.dataset.drawn; })")
    page.prefer(dark=True)
    page.wait(
        "[...document.querySelectorAll('figure:not(.nothing)')].every((figure) => figure.dataset.drawn)"
    )
    dark = page.evaluate(COLOURS)
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert page.errors == []


def test_choosing_a_metric_changes_its_charts_and_both_lists(page):
    before = page.evaluate("document.querySelector('#against svg').textContent")
    choose(page, "metric", "1", "distribution")
    choose(page, "metric", "1", "against")
    after = page.evaluate("document.querySelector('#against svg').textContent")
    assert "write_bandwidth" in before
    assert "write_latency_p99" in after
    assert page.evaluate(
        "[...document.querySelectorAll('select[data-choose=metric]')].map((one) => one.value)"
    ) == ["1", "1"]
    assert page.errors == []


def test_a_parameter_of_words_is_an_axis_without_lines(page):
    assert page.evaluate("document.querySelectorAll('#against g.mark-line path').length") == 2
    choose(page, "parameter", "1", "against")
    assert page.evaluate("document.querySelectorAll('#against g.mark-line path').length") == 0
    assert marks(page, "against", "medians") == 6
    assert "sequential" in page.evaluate("document.querySelector('#against svg').textContent")


def test_another_trial_shows_other_telemetry(page):
    line = "document.querySelector('#disk g.mark-line path').getAttribute('d')"
    before = page.evaluate(line)
    choose(page, "trial", "3", "disk")
    assert page.evaluate(line) != before


def test_of_many_cells_one_percentile_curve_is_chosen(browser, build, tmp_path):
    record = build(
        parameters={"a": list(range(12))},
        repetitions=1,
        histograms=lambda cell, *_: {"latency": {0.001 * (1 + cell.parameters["a"]): 100, 0.5: 1}},
    )
    browser.open(html.write(Findings(record), tmp_path / "report.html"))
    chosen = "[...document.querySelectorAll('#percentiles g.mark-line path')].at(-1).getAttribute('d')"
    before = browser.evaluate(chosen)
    change(browser, "cell", "a=7")
    browser.wait(f"{chosen} !== {before!r}")
    assert browser.errors == []


def test_all_can_be_reached_by_keyboard_and_is_named(page):
    for which, condition in (
        (".box", "one.tabIndex === 0 && one.getAttribute('aria-label')"),
        ("select", "one.labels.length === 1"),
        (".plot svg", "one.getAttribute('aria-label')"),
    ):
        assert page.evaluate(f"document.querySelectorAll('{which}').length") > 1
        assert page.evaluate(f"[...document.querySelectorAll('{which}')].every((one) => {condition})")


def test_a_stranger_cannot_run_anything(browser, hostile, tmp_path):
    browser.open(html.write(Findings(hostile), tmp_path / "report.html"))
    assert browser.evaluate("typeof window.pwned") == "undefined"
    assert browser.errors == []
    assert browser.requests == [(tmp_path / "report.html").as_uri()]
    assert marks(browser, "distribution", "trials") == 23
    shown = tip(browser, "#distribution g.trials_marks > path")
    assert "<img src=x onerror=window.pwned=1>" in shown["cell"]
    assert browser.evaluate("document.querySelectorAll('img').length") == 0


def test_an_added_script_is_refused(page):
    page.evaluate(
        "(() => { const script = document.createElement('script'); script.textContent = 'window.added = 1';"
        " document.body.append(script); })()"
    )
    assert page.evaluate("typeof window.added") == "undefined"
    assert any("Content Security Policy" in error for error in page.errors)
