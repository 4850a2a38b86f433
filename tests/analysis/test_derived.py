"""What is derived when, and that what cannot be derived is said and never costs the run's own figures."""

from __future__ import annotations

import subprocess
import sys

import pytest

from steelyard.analysis.cost import CostTable
from steelyard.analysis.derived import derive
from steelyard.analysis.failures import FailureTable
from steelyard.analysis.knee import KneeStudy
from steelyard.analysis.ranking import RankingTable
from steelyard.analysis.scaling import Scaling
from steelyard.analysis.summary import summarise_run
from steelyard.errors import StoreError
from steelyard.model.keys.derive import Derive

PRICES = {"prices": {"currency": "USD", "per_hour": {"m3.xlarge": 0.28}}}


def derived(record):
    return derive(record, summarise_run(record))


def kinds(record):
    return [type(one) for one in derived(record).results]


def test_a_plain_run_derives_nothing(build):
    assert derived(build()) == ((), ())


def test_full_cores_show_a_loss_and_machines_a_ranking(build, plans):
    record = build(**plans.gensim())
    assert kinds(record) == [Scaling, RankingTable, RankingTable]
    assert derived(record).results[0].question == "loss"


def test_hosts_show_a_speed_up_and_no_loss(build, plans):
    (found,) = derived(build(**plans.growing())).results
    assert (type(found), found.question, found.by, found.parameter) == (
        Scaling,
        "speedup",
        "hosts",
        "machines",
    )


def test_known_prices_show_a_cost(build, plans):
    assert CostTable in kinds(build(**plans.gensim(design=PRICES)))


def test_failures_show_their_rate(build, plans):
    assert kinds(build(**plans.streams(design={}))) == [FailureTable]


def test_a_record_need_not_name_its_only_host(build, plans):
    """As the controller writes it: copies and hosts only where there is more than one copy."""
    plan = plans.gensim(
        parameters={"copies": [1, "cores"]},
        copies=lambda cell: 4 if cell.parameters["copies"] == "cores" else 1,
        on=lambda cell: ["h0"] if cell.parameters["copies"] == "cores" else [],
        figures=lambda cell, repetition, rng: {"events_per_second": rng.gauss(10, 0.1)},
        design={"prices": {"per_hour": {"m3.xlarge": 1}}},
    )
    plan["environment"] = {"hosts": plan["environment"]["hosts"][:1]}
    loss, cost = derived(build(**plan)).results
    assert (type(loss), loss.per) == (Scaling, "core")
    assert [one.machine for one in cost.costs] == ["m3.xlarge", "m3.xlarge"]


def test_copies_without_known_cores_show_nothing_by_themselves(build, plans):
    record = build(**plans.gensim(environment={}, on=None))
    assert kinds(record) == []


def test_what_is_asked_for_is_derived_in_that_order_and_nothing_else(build, plans):
    asked = [{"ranking": {"of": "copies"}}, {"efficiency_loss": {}}]
    record = build(**plans.gensim(design={"derive": asked, **PRICES}))
    assert kinds(record) == [RankingTable, RankingTable, RankingTable, Scaling]


def test_entries_are_read_as_the_model_writes_them(build, plans):
    forms = ["failure_rate", {"knee": {"parameter": "streams", "tolerance": "20%"}}]
    for more in ({}, {"exclude_none": True}):
        entries = [Derive.model_validate(form).model_dump(mode="json", **more) for form in forms]
        found = derived(build(**plans.streams(design={"derive": entries})))
        assert [type(one) for one in found.results] == [FailureTable, KneeStudy]
        assert found.results[1].tolerance == 0.2


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        ({"efficiency_loss": {}}, "efficiency loss: no parameter of the run sets the number of copies"),
        ({"efficiency_loss": {"over": "streams"}}, "no two measured cells differ in 'streams' alone and"),
        ({"speedup": {}}, "speedup: no parameter of the run sets the number of hosts or copies"),
        ({"knee": {"parameter": "steams"}}, "unknown parameter 'steams'; did you mean 'streams'"),
        ({"knee": {"parameter": "protocol"}}, "the levels of 'protocol' are not numbers"),
        ({"knee": {"parameter": "streams", "metric": "speed"}}, "unknown metric 'speed'"),
        ({"cost": {}}, "cost: no prices are known"),
        ({"ranking": {}}, "ranking: no single parameter of the run sets the machine"),
        ({"efficiency_loss": {"metric": "failure_rate"}}, "no parameter of the run"),
    ],
)
def test_what_cannot_be_derived_is_said(build, plans, entry, note):
    found = derived(build(**plans.streams(design={"derive": [entry]})))
    assert found.results == ()
    assert note in found.notes[0]


def test_what_data_only_seem_to_support_is_not_complained_of(build, plans):
    record = build(**plans.gensim(metrics=[], figures=lambda *_: {}))
    assert derived(record) == ((), ())


def test_endless_tables_are_cut_short_and_that_is_said(build, plans):
    plan = plans.streams(
        parameters={"protocol": ["xrootd", "gridftp"], "streams": [1, 2], "x": list(range(15))}
    )
    found = derived(build(**{**plan, "design": {"derive": [{"ranking": {"of": "protocol"}}]}}))
    assert len(found.results) == 24
    assert found.notes == ("ranking: only the first 24 of 30 tables are shown",)


def test_an_unknown_entry_is_a_damaged_record(build, plans):
    with pytest.raises(StoreError, match=r"the record of run .* is invalid"):
        derived(build(**plans.streams(design={"derive": [{"horoscope": {}}]})))


def test_a_run_with_nothing_to_derive_loads_no_numpy(build):
    record = build(parameters={"a": [1, 2]}, repetitions=2)
    code = (
        "import sys; from pathlib import Path; from steelyard.store.layout import RunFolder;"
        "from steelyard.store.reader import RunRecord; from steelyard.analysis.summary import summarise_run;"
        "from steelyard.analysis.derived import derive;"
        "from steelyard.report.derived_lines import derived_lines, sections;"
        f"record = RunRecord(RunFolder(Path({str(record.folder.path)!r})));"
        "derived = derive(record, summarise_run(record));"
        "assert derived_lines(sections(derived), derived.notes) == [];"
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
