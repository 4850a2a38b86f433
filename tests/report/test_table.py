from __future__ import annotations

import pytest

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UnknownName
from steelyard.model.metric import Metric, latency_metrics
from steelyard.report.columns import width
from steelyard.report.plain import plain_run
from steelyard.report.table import result_lines, table_lines
from steelyard.report.tidy import tidy

RATE = Metric("rate", "B/s", "higher")
TIME = Metric("time", "s", "lower")


def figures(cell, repetition, rng):
    """Scattered, and without any drift."""
    step = repetition * 5 % 7
    return {"rate": 2**30 + step * 2**25, "time": 0.0024 + step / 1e4}


def lines(record, **options):
    return result_lines(Findings(record), **options)


def test_the_table_looks_as_the_design_has_it(build):
    record = build(
        parameters={"outstanding": [1, 64], "files": [1]},
        metrics=[RATE, TIME],
        figures=figures,
        repetitions=7,
        marks={("outstanding=64 files=1", 1): ("disturbed", "foreign CPU load 0.3 cores (stress-ng)")},
        require=["rate.median >= 200 MiB/s"],
    )
    mark = "1 disturbed: foreign CPU load"
    assert lines(record, columns=140) == [
        "cell                     n  rate  median [95 %]                    time  median [95 %]   marks",
        "outstanding=1   files=1  7  1.09 GiB/s [1.00, 1.19]  ████████████  2.70 ms [2.40, 3.00]",
        f"outstanding=64  files=1  6  1.08 GiB/s [1.00, 1.19]  ███████████▉  2.65 ms [2.40, 3.00]  {mark}",
        "require  rate.median >= 200 MiB/s  met in 2 of 2 cells",
    ]


def test_a_narrow_terminal_shows_fewer_metrics_but_one(build):
    record = build(parameters={"a": [1]}, metrics=[RATE, TIME], figures=figures)
    summary = summarise_run(record)
    assert "time" not in table_lines(summary, columns=50)[0]
    assert "time" in table_lines(summary, columns=80)[0]
    assert "rate" in table_lines(summary, columns=10)[0]
    assert all(width(line) <= 80 for line in table_lines(summary, columns=80))


def test_what_does_not_fit_is_named_and_how_to_see_it(build):
    record = build(parameters={"a": [1]}, metrics=[RATE, TIME], figures=figures)
    narrow = f"1 more metric: time; `steelyard show {record.id} --metric NAME`"
    assert narrow in table_lines(summarise_run(record), columns=50)
    assert not any("more metric" in line for line in table_lines(summarise_run(record), columns=80))


def test_without_a_terminal_nothing_is_cut(build):
    many = [Metric(f"m{n}", "req/s", "higher") for n in range(20)]
    reason = "foreign CPU load 0.3 cores (stress-ng), and much more to say of what happened in this trial"
    record = build(
        parameters={"a": [1]},
        metrics=many,
        figures=lambda *_: {metric.name: 7.0 for metric in many},
        repetitions=7,
        marks={("a=1", 1): ("disturbed", reason, reason)},
    )
    head, row, *rest = table_lines(summarise_run(record), columns=None)
    assert all(f"{metric.name}  median" in head for metric in many)
    assert reason in row
    assert not any("more metric" in line for line in rest)


def test_metrics_that_a_reader_chose_are_all_shown_however_narrow_it_is(build):
    record = build(parameters={"a": [1]}, metrics=[RATE, TIME], figures=figures)
    chosen = summarise_run(record).filter_metrics(["t*", "rate"])
    found = table_lines(chosen, columns=50)
    assert [line.split()[2] for line in found if line.startswith("cell")] == ["time", "rate"]
    assert len(found) == 4
    with pytest.raises(UnknownName, match="did you mean 'rate'"):
        summarise_run(record).filter_metrics(["rat"])


def test_few_trials_have_a_footnote_instead_of_an_interval(build):
    record = build(parameters={"a": [1]}, metrics=[RATE], figures=figures, repetitions=3)
    assert lines(record) == [
        "cell  n  rate  median [95 %]",
        "a=1   3  1.09 GiB/s [–]",
        f"[–]  no 95 % interval, n=3; 6 counted trials are needed: `steelyard extend {record.id} --repeat 6`",
    ]


def test_cells_without_figures_say_why(build):
    record = build(
        parameters={"a": [1, 2]},
        metrics=[RATE],
        figures=figures,
        repetitions=6,
        failures={("a=2", n): ("crashed", "boom") for n in range(1, 7)},
    )
    found = lines(record)
    assert found[2] == "a=2   0  –                        6 failed: crashed"
    assert found[3] == "–  no trial counts: 6 failed"
    assert found[4:6] == [
        "6 trials failed: crashed (trial 2, 4, 6, 8, 10, 12)",
        "     trial 2: boom",
    ]


def test_as_many_repetitions_are_advised_as_give_an_interval(build):
    record = build(
        parameters={"a": [1, 2]},
        metrics=[RATE],
        figures=figures,
        failures={("a=2", n): ("crashed", "boom") for n in (1, 4)},
    )
    assert any(line.endswith(f"`steelyard extend {record.id} --repeat 8`") for line in lines(record))


def test_each_reason_of_failures_is_told_once(build):
    why = {1: "boom", 2: "boom", 3: "no such file", 4: "code 1", 5: "code 2", 6: "code 3"}
    record = build(
        parameters={"a": [1]},
        metrics=[RATE],
        figures=figures,
        failures={("a=1", n): ("crashed", text) for n, text in why.items()},
    )
    assert lines(record)[3:8] == [
        "6 trials failed: crashed (trial 1, 2, 3, 4, 5, 6)",
        "     trial 1: boom",
        "     trial 3: no such file",
        "     trial 4: code 1",
        f"     … and 2 more reasons; `steelyard show {record.id} --trial N` shows each",
    ]


def test_a_quantile_that_only_quick_trials_have_is_no_figure(build):
    record = build(
        parameters={"a": [1]},
        metrics=latency_metrics("wait", "time")[3:4],
        figures=lambda cell, repetition, rng: {"wait_p99": 0.1} if repetition > 3 else {},
        short=lambda repetition: {"wait_p99": 78} if repetition <= 3 else {},
    )
    found = lines(record)
    assert found[1:3] == ["a=1   6  –", "–  wait_p99 needs 100 samples; 3 trials had 78"]
    assert not any("--repeat" in line for line in found)


def stolen(share):
    return ("disturbed", f"steal: the hypervisor took {100 * share} % of the CPU time", "steal", share, "%")


def test_where_too_few_count_all_trials_are_shown_and_what_disturbed_them(build):
    record = build(
        parameters={"a": [1, 2]},
        metrics=[RATE],
        figures=figures,
        repetitions=7,
        marks={("a=1", n): stolen(0.12) for n in range(1, 8)} | {("a=2", 1): stolen(0.5)},
    )
    assert lines(record)[1:] == [
        "a=1   0  1.09 GiB/s [1.00, 1.19] *  ████████████  7 disturbed: steal",
        "a=2   6  1.08 GiB/s [1.00, 1.19]    ███████████▉  1 disturbed: steal",
        "*  all 7 trials, under steal, median 12 %: a=1",
        f"   `steelyard extend {record.id} --repeat N` adds trials;"
        f" `steelyard show {record.id} --disturbed include` counts all trials",
    ]


def test_of_the_only_cell_nobody_says_which_one_it_is(build):
    marks = {("-", n): stolen(0.12) for n in range(1, 7)}
    record = build(parameters={}, metrics=[RATE], figures=figures, marks=marks)
    assert lines(record)[2] == "*  all 6 trials, under steal, median 12 %"


def test_medians_with_and_without_disturbed_trials_stand_below_each_other(build):
    record = build(
        parameters={"a": [1, 2]},
        metrics=[RATE],
        figures=figures,
        repetitions=7,
        marks={("a=2", 1): stolen(0.5)},
    )
    assert lines(record, both=True)[1:4] == [
        "a=1                      7  1.09 GiB/s [1.00, 1.19]  ████████████",
        "a=2                      6  1.08 GiB/s [1.00, 1.19]  ███████████▉  1 disturbed: steal",
        "  with disturbed trials  7  1.09 GiB/s [1.00, 1.19]                under steal, median 50 %",
    ]


def test_bars_are_for_eyes_and_for_what_can_be_told_apart(build):
    several = build(parameters={"a": [1, 2]}, metrics=[RATE], figures=figures)
    assert sum("█" in line for line in lines(several)) == 2
    assert not any("█" in line for line in lines(several, columns=None))
    one = build(parameters={"a": [1]}, metrics=[RATE], figures=figures)
    assert not any("█" in line for line in lines(one))


def test_marked_trials_alone_are_shown_in_brackets_and_are_no_result(build):
    record = build(
        parameters={"a": [1]},
        metrics=[RATE],
        figures=figures,
        repetitions=3,
        marks={("a=1", n): ("fallback", "buffered") for n in (1, 2, 3)},
        require=["rate.median >= 1 B/s"],
    )
    assert lines(record)[1:] == [
        "a=1   0  (1.09 GiB/s)         3 fallback: buffered",
        "( )  median of marked trials, no result: no trial counts: 3 marked",
        "require  rate.median >= 1 B/s  missing in 1 of 1 cell (a=1)",
    ]


def test_requirements_say_where_they_are_not_met(build):
    record = build(
        parameters={"a": [1, 2]},
        metrics=[RATE],
        figures=lambda cell, *_: {"rate": cell.parameters["a"] * 2.0**30},
        require=["rate.median >= 1.5 GiB/s", ("rate > 9 GiB/s", "a > 5")],
    )
    assert lines(record)[-2:] == [
        "require  rate.median >= 1.5 GiB/s    not met in 1 of 2 cells (a=1), met in 1",
        "require  rate > 9 GiB/s where a > 5  missing: its `where` matches no cell",
    ]


def test_requirements_that_are_mostly_decided_say_so_first(build):
    marks = {(f"a={a}", n): stolen(0.12) for a in (1, 2) for n in range(1, 19)}
    record = build(
        parameters={"a": [1, 2, 3, 4]},
        metrics=[RATE],
        figures=lambda cell, repetition, rng: {"rate": 10 * (repetition > 18) + 9.0 * cell.parameters["a"]},
        repetitions=24,
        marks=marks,
        require=["rate.median >= 11 B/s", "rate.median >= 25 B/s"],
    )
    found = [line for line in lines(record) if line.startswith("require")]
    depending = "(1 depending on disturbed trials)"
    assert found[0].endswith(f"met in 3 of 4 cells; undecided in 1: a=1 {depending}")
    assert found[1].endswith(f"not met in 1 of 4 cells (a=1), met in 2; undecided in 1: a=2 {depending}")


def test_verdicts_by_all_trials_are_labelled(build):
    record = build(
        parameters={"a": [1]},
        metrics=[RATE],
        figures=figures,
        repetitions=7,
        marks={("a=1", n): stolen(0.12) for n in range(1, 8)},
        require=["rate.median >= 1 B/s"],
    )
    assert lines(record)[-1].endswith("met in 1 of 1 cell (1 by all trials, disturbed ones too)")


def test_sequential_stops_outliers_and_drift_are_told(build):
    record = build(
        parameters={"a": [1]},
        metrics=[RATE],
        figures=lambda cell, repetition, rng: {"rate": float(repetition)},
        repetitions=12,
        until={"metric": "rate", "within": "5%"},
        outliers="tukey",
    )
    text = "\n".join(lines(record))
    assert "repetitions stopped at the required precision (sequential" in text
    assert "outliers: tukey set aside 0 values" in text
    assert "rate: in a=1 the figures rose by 169 % during the run, which makes" in text


def test_quantiles_of_too_few_samples_are_told(build):
    record = build(
        parameters={"a": [1]},
        metrics=latency_metrics("wait", "time"),
        figures=lambda *_: {"wait_p50": 0.1},
        short=lambda repetition: {"wait_p99": 37, "wait_p999": 37},
    )
    text = "\n".join(lines(record))
    assert "wait_p99 needs 100 samples; 6 trials had 37: make trials run longer." in text
    assert "wait_p99  median" not in text, "a column of nothing"
    assert "wait_p999 needs" not in text, "no table leads with it"


def test_many_cells_can_be_cut_short(build):
    record = build(parameters={"a": list(range(30))}, metrics=[RATE], figures=figures)
    found = table_lines(summarise_run(record), most=3)
    assert len(found) == 5
    assert found[-1] == "… and 27 more cells"


def test_no_parameters_and_no_metrics_are_fine(build):
    assert "-     6  1.11 GiB/s [1.03, 1.19]" in lines(build(parameters={}, metrics=[RATE], figures=figures))
    assert lines(build(parameters={}, metrics=[], figures=lambda *_: {}))[:2] == ["cell  n", "-     6"]


@pytest.mark.parametrize("columns", [1, 60, 200])
def test_a_hostile_record_cannot_move_the_cursor(hostile, columns):
    assert all(line.isprintable() for line in lines(hostile, columns=columns))


def test_figures_that_are_bounds_say_so_everywhere(build):
    memory = Metric("memory", "B", "lower")
    value = lambda cell, repetition, rng: {"memory": 2.0**20}  # noqa: E731
    record = build(parameters={"a": [1]}, metrics=[memory], figures=value, at_most=["memory"], design={})
    assert lines(record)[1:] == [
        "a=1   6  ≤ 1.00 MiB [1.00, 1.00]",
        "≤  memory is an upper bound: what starts the program may use as much",
    ]
    table = tidy(record)
    assert [row[list(table.columns).index("bound")] for row in table.rows] == ["at most"] * 6
    assert plain_run(Findings(record))["cells"][0]["metrics"]["memory"]["at_most"] is True
