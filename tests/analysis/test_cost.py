from __future__ import annotations

import pytest

from steelyard.analysis.cost import costs, price_table
from steelyard.analysis.summary import summarise_run
from steelyard.errors import UsageError
from steelyard.model.metric import Metric

TABLE = {
    "currency": "EUR",
    "per_hour": {"m3.xlarge": 0.3, "c4.2xlarge": 0.5},
    "source": "a list",
    "date": "2015-08-01",
}


def costed(record, **options):
    return costs(record, summarise_run(record), **options)


def test_work_for_money_is_rate_times_an_hour_over_its_price(build, plans):
    table = costed(build(**plans.gensim(design={"prices": TABLE})))
    assert len(table.costs) == 4
    one = next(one for one in table.costs if one.cell.key == "machine=1 copies=cores")
    assert (one.machine, one.price) == ("c4.2xlarge", 0.5)
    assert one.work.median == pytest.approx(one.figure.median * 3600 / 0.5)
    assert one.work.interval.low == pytest.approx(one.figure.interval.low * 3600 / 0.5)
    assert one.unit_price.median == pytest.approx(1 / one.work.median, rel=0.01)
    assert table.missing == ("cc2.8xlarge",)
    assert table.note == "EUR, prices: a list, 2015-08-01"
    assert table.unit == "1"


def test_a_rate_in_a_word_of_its_own_is_work_too(build):
    costed_by = {"design": {"prices": {"per_hour": {"n0": 0.5}}}, "on": lambda cell: ["n0"]}
    metric = Metric("answered", "req/s", "higher")
    figures = {"metrics": [metric], "figures": lambda cell, repetition, rng: {"answered": rng.gauss(100, 1)}}
    table = costed(build(parameters={"a": [1, 2]}, **figures, **costed_by))
    assert table.unit == "1"
    assert table.costs[0].work.median == pytest.approx(table.costs[0].figure.median * 3600 / 0.5)


def test_all_hosts_of_a_cell_are_paid_for(build, plans):
    prices = {"per_hour": {f"n{n}": 0.25 for n in range(4)}}
    table = costed(build(**plans.growing(design={"prices": prices})))
    assert {one.cell.parameters["machines"]: one.price for one in table.costs} == {1: 0.25, 2: 0.5, 4: 1.0}
    assert table.unit == "B"
    assert table.note == "currency not recorded, prices: source not recorded"


def test_a_host_without_a_price_leaves_its_cells_out(build, plans):
    table = costed(build(**plans.growing(design={"prices": {"per_hour": {"n0": 1}}})))
    assert {one.cell.parameters["machines"] for one in table.costs} == {1}
    assert table.missing == ("n1", "n2", "n3")


@pytest.mark.parametrize("price", [0.4, {"per_hour": 0.4, "currency": "USD"}])
def test_the_sites_prices_stand_in_for_the_files(build, plans, price):
    plan = plans.gensim()
    hosts = [{**host, "price": price, "currency": "USD"} for host in plan["environment"]["hosts"]]
    record = build(**{**plan, "environment": {"hosts": hosts}})
    found = price_table(record)
    assert found.currency == "USD"
    assert found.per_hour == dict.fromkeys(plans.MACHINES, 0.4)
    assert len(costed(record).costs) == 6
    both = build(**{**plan, "environment": {"hosts": hosts}, "design": {"prices": TABLE}})
    assert price_table(both).currency == "EUR"


@pytest.mark.parametrize("price", [None, -1, 0, "free", True, {"per_hour": "x"}])
def test_a_price_that_is_none_is_not_taken(build, plans, price):
    plan = plans.gensim()
    hosts = [{**host, "price": price} for host in plan["environment"]["hosts"]]
    assert price_table(build(**{**plan, "environment": {"hosts": [*hosts, "rubbish", {}]}})) is None


def test_a_score_costs_score_hours(build, plans):
    score = Metric("score", "1", "higher")
    record = build(
        **plans.gensim(metrics=[score], figures=lambda *_: {"score": 12.0}, design={"prices": TABLE})
    )
    table = costed(record)
    assert table.unit == "score h"
    assert table.costs[0].work.median == pytest.approx(12 / 0.3)


def test_without_prices_or_work_it_is_said(build, plans):
    with pytest.raises(UsageError, match="no prices are known"):
        costed(build(**plans.gensim()))
    with pytest.raises(UsageError, match="cannot be priced"):
        costed(build(**plans.streams(design={"prices": TABLE})), metric="failure_rate")
