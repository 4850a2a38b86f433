from __future__ import annotations

import pytest

from steelyard.analysis.importance import by_importance, leading, matching, named, primary
from steelyard.errors import UnknownName
from steelyard.model.metric import Metric, latency_metrics

DEPTH = Metric("depth", "1", "none")
RATE = Metric("rate", "1/s", "higher")
METRICS = (DEPTH, RATE, *latency_metrics("latency", "time"))


def names(metrics):
    return [metric.name for metric in metrics]


def test_those_with_a_direction_come_first_and_two_quantiles_stand_for_all():
    assert names(primary(METRICS)) == ["rate", "latency_p50", "latency_p99"]
    assert names(by_importance(METRICS)) == [
        "rate", "latency_p50", "latency_p99", "depth", "latency_p95", "latency_p999",
    ]  # fmt: skip


def test_what_another_metric_tells_better_is_primary_only_where_it_is_named():
    late = (*latency_metrics("scheduled", "time since due"), *latency_metrics("sent", "time", secondary=True))
    assert names(primary(late)) == ["scheduled_p50", "scheduled_p99"]
    assert names(primary(late, ["sent_p99"])) == ["sent_p99", "scheduled_p50", "scheduled_p99"]
    assert names(by_importance(late))[4:] == ["sent_p50", "sent_p95", "sent_p99", "sent_p999"]


def test_what_the_experiment_names_comes_before_all():
    assert names(primary(METRICS, ["latency_p999", "depth", "depth", "unheard_of"])) == [
        "latency_p999", "depth", "rate", "latency_p50", "latency_p99",
    ]  # fmt: skip


def test_without_any_direction_every_scalar_is_primary():
    assert names(primary([DEPTH, Metric("other", "1", "none")])) == ["depth", "other"]


def test_named_reads_requirements_and_the_stop_rule():
    design = {
        "require": [{"metric": "b"}, {"metric": "a"}, {"metric": "b"}],
        "repeat": {"until": {"metric": "c"}},
    }
    assert named(design) == ["b", "a", "c"]
    assert named({"repeat": {"until": None}}) == []
    assert named({}) == []


def test_what_the_experiment_declares_comes_after_what_it_asks_and_before_what_a_workload_has_anyway():
    lat = {"regex": "lat: (.*)"}
    part = {"phase": "load", "use": "command", "options": {"run": ["true"], "metrics": {"lat": lat}}}
    design = {"workload": [part, {"use": "fio", "options": {}}], "require": [{"metric": "rate"}]}
    assert named(design) == ["rate", "lat", "load_lat"]
    assert named({**design, "metrics": [{"name": "lat"}, {"name": "ratio", "formula": "a / b"}]}) == [
        "rate",
        "ratio",
        "lat",
        "load_lat",
    ]
    alone, load = Metric("lat", "s", "lower"), Metric("load_lat", "1", "none")
    assert names(primary([*METRICS, alone], named(design)))[:2] == ["rate", "lat"]
    assert names(primary([*METRICS, load], named(design)))[:2] == ["rate", "load_lat"]


def test_what_an_experiment_names_leads_however_much_it_is_and_else_the_first_few():
    many = [Metric(f"m{n}", "1", "higher") for n in range(9)]
    assert names(leading(many)) == ["m0", "m1", "m2", "m3"]
    assert names(leading(many, ["m8"])) == ["m8", "m0", "m1", "m2"]
    asked = ["m8", "m7", "m6", "m5", "m4", "unheard_of"]
    assert names(leading(many, asked)) == asked[:5]


def test_metrics_are_chosen_by_name_or_pattern_in_the_order_of_asking():
    assert names(matching(METRICS, ["rate", "latency_p9*", "rate"])) == [
        "rate", "latency_p95", "latency_p99", "latency_p999",
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="did you mean 'depth'"):
        matching(METRICS, ["rate", "dept"])
