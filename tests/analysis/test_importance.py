from __future__ import annotations

import pytest

from steelyard.analysis.importance import (
    list_requested,
    select_leading,
    select_metrics,
    select_primary,
    sort_by_importance,
)
from steelyard.errors import UnknownName
from steelyard.model.metric import Metric, latency_metrics

DEPTH = Metric("depth", "1", "none")
RATE = Metric("rate", "1/s", "higher")
METRICS = (DEPTH, RATE, *latency_metrics("latency", "time"))


def names(metrics):
    return [metric.name for metric in metrics]


def test_those_with_a_direction_come_first_and_two_quantiles_stand_for_all():
    assert names(select_primary(METRICS)) == ["rate", "latency_p50", "latency_p99"]
    assert names(sort_by_importance(METRICS)) == [
        "rate", "latency_p50", "latency_p99", "depth", "latency_p95", "latency_p999",
    ]  # fmt: skip


def test_what_another_metric_tells_better_is_primary_only_where_it_is_named():
    late = (*latency_metrics("scheduled", "time since due"), *latency_metrics("sent", "time", secondary=True))
    assert names(select_primary(late)) == ["scheduled_p50", "scheduled_p99"]
    assert names(select_primary(late, ["sent_p99"])) == ["sent_p99", "scheduled_p50", "scheduled_p99"]
    assert names(sort_by_importance(late))[4:] == ["sent_p50", "sent_p95", "sent_p99", "sent_p999"]


def test_what_the_experiment_names_comes_before_all():
    assert names(select_primary(METRICS, ["latency_p999", "depth", "depth", "unheard_of"])) == [
        "latency_p999", "depth", "rate", "latency_p50", "latency_p99",
    ]  # fmt: skip


def test_without_any_direction_every_scalar_is_primary():
    assert names(select_primary([DEPTH, Metric("other", "1", "none")])) == ["depth", "other"]


def test_named_reads_requirements_and_the_stop_rule():
    design = {
        "require": [{"metric": "b"}, {"metric": "a"}, {"metric": "b"}],
        "repeat": {"until": {"metric": "c"}},
    }
    assert list_requested(design) == ["b", "a", "c"]
    assert list_requested({"repeat": {"until": None}}) == []
    assert list_requested({}) == []


def test_what_the_experiment_declares_comes_after_what_it_asks_and_before_what_a_workload_has_anyway():
    lat = {"regex": "lat: (.*)"}
    part = {"phase": "load", "use": "command", "options": {"run": ["true"], "metrics": {"lat": lat}}}
    design = {"workload": [part, {"use": "fio", "options": {}}], "require": [{"metric": "rate"}]}
    assert list_requested(design) == ["rate", "lat", "load_lat"]
    assert list_requested(
        {**design, "metrics": [{"name": "lat"}, {"name": "ratio", "formula": "a / b"}]}
    ) == [
        "rate",
        "ratio",
        "lat",
        "load_lat",
    ]
    alone, load = Metric("lat", "s", "lower"), Metric("load_lat", "1", "none")
    assert names(select_primary([*METRICS, alone], list_requested(design)))[:2] == ["rate", "lat"]
    assert names(select_primary([*METRICS, load], list_requested(design)))[:2] == ["rate", "load_lat"]


def test_what_an_experiment_names_leads_however_much_it_is_and_else_the_first_few():
    many = [Metric(f"m{n}", "1", "higher") for n in range(9)]
    assert names(select_leading(many)) == ["m0", "m1", "m2", "m3"]
    assert names(select_leading(many, ["m8"])) == ["m8", "m0", "m1", "m2"]
    asked = ["m8", "m7", "m6", "m5", "m4", "unheard_of"]
    assert names(select_leading(many, asked)) == asked[:5]


def test_metrics_are_chosen_by_name_or_pattern_in_the_order_of_asking():
    assert names(select_metrics(METRICS, ["rate", "latency_p9*", "rate"])) == [
        "rate", "latency_p95", "latency_p99", "latency_p999",
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="did you mean 'depth'"):
        select_metrics(METRICS, ["rate", "dept"])
