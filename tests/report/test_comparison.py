from __future__ import annotations

import re

import pytest

from steelyard.analysis.comparison.compare import compare_runs
from steelyard.analysis.comparison.compare_levels import compare_levels
from steelyard.analysis.comparison.gate import Gate, GatedComparison
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric
from steelyard.report import html, markdown
from steelyard.report.comparison import comparison_lines, gate_lines
from steelyard.report.export import write_comparison
from steelyard.report.sections.comparison import answer
from steelyard.report.sections.comparison import describe_comparison as part_of

RATE = Metric("rate", "B/s", "higher")
TIME = Metric("time", "s", "lower")
SHIFT = Metric("shift", "s", "none")


def compared(a, b, **more):
    return compare_runs([a], [b], **more)


def at(rate, shift=0.0):
    return lambda cell, repetition, rng: {"rate": rate * (1 + repetition / 1000), "shift": shift + repetition}


def test_each_metric_has_a_table_with_change_and_verdict(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE, SHIFT], "repetitions": 9}
    before, after = build(**plan, figures=at(2**30)), build(**plan, figures=at(2**30 * 0.9, -5.0))
    found = comparison_lines(compared(before, after, metrics=["rate", "shift"]))
    assert found[0].split() == ["a", before.id, "(the", "baseline)"]
    assert found[3] == "rate, higher is better"
    assert found[4].split("  ")[0] == "cell"
    assert "1.00 GiB/s  0.904 GiB/s  -10.0 % [-10.4, -9.64]  worse" in found[5]
    # A difference where a value is not above zero: no ratio can be had.
    assert "-5.00 s [-9.00, -1.00]" in found[9]
    assert found[11] == "2 comparisons: 1 worse, 1 different (Holm's correction at 5 %)"


def test_a_run_against_itself(build):
    record = build(parameters={"a": [1, 2]}, metrics=[RATE], figures=at(1e9))
    lines = comparison_lines(compared(record, record))
    assert lines[-2].startswith("2 comparisons: 2 no detectable difference")
    assert lines[-1].startswith("one run per side: these intervals do not include the variation between runs")
    assert re.search(r"no detectable difference: a change of \d\.\d\d % or more would be detected", lines[5])


def test_what_differs_between_the_runs_stands_first_and_another_machine_in_the_verdict(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": at(1e9)}
    before = build(**plan, environment={"cpu": {"model": "Old"}}, design={"tags": {"build": "1"}})
    after = build(**plan, environment={"cpu": {"model": "New\x1b"}}, design={"tags": {"build": "2"}})
    lines = comparison_lines(compared(before, after, across=True))
    assert lines[2:5] == ["differs", "  tags.build: 1 -> 2", "  CPU: Old -> New\\x1b"]
    assert lines[-2].startswith("measured in different places, which may explain any difference: CPU")


def test_a_side_of_which_all_trials_failed_has_no_figure(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": at(1e9)}
    crash = {("a=1", n): ("crashed", "exit code 3") for n in range(1, 7)}
    lines = comparison_lines(compared(build(**plan), build(**plan, failures=crash)))
    assert re.search(r"6, 0\+6 failed +\S+ \S+ +failed +– +worse", lines[5])


def test_several_runs_of_a_side_stand_below_each_other(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE]}
    runs = [build(**plan, seed=n, figures=at(1e9 * (1 + n / 100))) for n in range(4)]
    lines = comparison_lines(compare_runs(runs[:2], runs[2:]))
    assert [line.split()[:2] for line in lines[:2]] == [["a", runs[0].id], [runs[1].id, "(the"]]
    assert not any("one run per side" in line for line in lines)


def test_too_few_trials_say_how_few(build):
    record = build(parameters={"a": [1]}, metrics=[RATE], figures=at(1e9), repetitions=3)
    text = "\n".join(comparison_lines(compared(record, record)))
    assert "+0.00 %" in text
    assert "too few trials: n=3 against n=3" in text


def test_what_was_not_compared_is_told(build):
    plan = {"metrics": [RATE], "figures": at(1e9)}
    before, after = build(**plan, parameters={"a": [1]}), build(**plan, parameters={"a": [2]})
    assert comparison_lines(compared(before, after))[3:] == [
        "nothing to compare",
        "only in a: a=1",
        "only in b: a=2",
    ]


def test_a_hostile_record_cannot_move_the_cursor(hostile):
    assert all(line.isprintable() for line in comparison_lines(compared(hostile, hostile)))


def test_where_hardly_any_difference_could_show_nobody_reads_a_figure(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE]}
    a, b, c = (build(**plan, seed=n, figures=at(1e9 * (1 + n))) for n in range(3))
    lines = comparison_lines(compare_runs([a, b], [c]))
    assert any("not even a factor of 16 would be detected" in line for line in lines)


def of_levels(build, change=1.2, **more):
    """Builds that scatter by 1 %, of which the second is so much slower."""
    record = build(
        **{"parameters": {"build": ["old", "new"]}, "metrics": [TIME], "repetitions": 9, **more},
        figures=lambda cell, _, rng: {
            "time": rng.lognormvariate(0, 0.01) * (change if cell.parameters["build"] == "new" else 1)
        },
    )
    return record, compare_levels(record, summarise_run(record), parameter="build")


def test_levels_of_a_run_are_answered_in_a_sentence(build):
    _, worse = of_levels(build)
    assert re.fullmatch(
        r"time: build=new is worse than build=old, by \+\S+ % \[\+\S+, \+\S+\]\.", answer(worse)
    )
    _, same = of_levels(build, 1, seed=5)
    assert re.match(
        r"time: build=new against build=old, \S+ % \[.*\]: no detectable difference: a change of ",
        answer(same),
    )
    _, several = of_levels(build, parameters={"build": ["old", "new"], "size": [1, 2]})
    assert answer(several) == (
        "time against build=old: build=new size=1 +20.1 % [+19.0, +21.2], worse; "
        "build=new size=2 +20.2 % [+18.8, +21.7], worse."
    )


def test_a_gate_says_why_it_does_not_pass_and_what_would_let_it(build):
    _, worse = of_levels(build)
    assert gate_lines(GatedComparison(worse)) == [], "there is no gate"
    assert gate_lines(GatedComparison(worse, Gate(margin=0.3))) == [
        "The comparison passes with a margin of 30 %."
    ]
    lines = gate_lines(GatedComparison(worse, Gate(margin=0.1)))
    assert lines[0] == "does not pass, for 1 reason:"
    assert lines[1].startswith("  worse  build=new: time: the change is between +")
    _, few = of_levels(build, repetitions=5)
    assert gate_lines(GatedComparison(few, Gate()))[-1] == "  allow: few accepts these"


def test_levels_that_took_no_turns_are_told(build):
    _, found = of_levels(build, in_blocks=False)
    lines = comparison_lines(found)
    reason = "the counted trials do not alternate with the baseline's"
    assert f"not compared in pairs, as {reason}: build=new" in lines
    assert not any("one run per side" in line for line in lines)


@pytest.mark.parametrize("form", ["html", "markdown", "junit", "json"])
def test_a_strangers_levels_are_text_in_every_form(build, tmp_path, form):
    levels = ["old", "new<script>alert(1)</script>|\x1b[2J`"]
    record, _ = of_levels(build, 1, parameters={"build": levels})
    found = compare_levels(record, summarise_run(record), parameter="build")
    text = write_comparison(GatedComparison(found, Gate()), [record], form, tmp_path / "x").read_text()
    assert "\x1b" not in text
    if form != "json":
        assert "<script>" not in text
    if form == "markdown":
        assert "\\|" in text
    assert part_of(GatedComparison(found)).verdict == ""


def test_the_page_of_a_comparison_asks_nothing_of_the_network(build):
    _, found = of_levels(build)
    page = html.render_comparison(part_of(GatedComparison(found, Gate())), "ab")
    assert not re.search(r"<script|<link|<img|https?://", page)
    assert "default-src 'none'" in page
    assert markdown.render_comparison(part_of(GatedComparison(found)), "ab").startswith("# ab")


def test_many_times_as_much_is_told_as_that(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "repetitions": 9}
    lines = comparison_lines(compared(build(**plan, figures=at(1e6)), build(**plan, figures=at(286e6))))
    assert re.search(r"286x \[28\d, 28\d\]", "\n".join(lines))
