from __future__ import annotations

import pytest
from pydantic import ValidationError

from steelyard.model.keys.derive import Derive


@pytest.mark.parametrize("name", ["efficiency_loss", "speedup", "cost", "ranking", "failure_rate"])
def test_a_bare_name_is_enough(name):
    for form in (name, {name: {}}, {name: None}):
        found = Derive.model_validate(form)
        assert found.name == name
        assert found.parameters() == []


def test_a_knee_says_of_what():
    found = Derive.model_validate(
        {"knee": {"parameter": "streams", "metric": "throughput", "tolerance": "10%"}}
    )
    assert (found.settings.parameter, found.settings.metric, float(found.settings.tolerance)) == (
        "streams",
        "throughput",
        0.1,
    )
    assert found.parameters() == ["streams"]
    assert float(Derive.model_validate({"knee": {"parameter": "s"}}).settings.tolerance) == 0.05


def test_what_is_recorded_can_be_read_again():
    for form in (
        "cost",
        {"knee": {"parameter": "s"}},
        {"speedup": {"over": "machines"}},
        {"ranking": {"of": "p"}},
    ):
        found = Derive.model_validate(form)
        assert Derive.model_validate(found.model_dump(mode="json")) == found
        assert Derive.model_validate(found.model_dump(mode="json", exclude_none=True)) == found


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("nee", "Extra inputs are not permitted"),
        ({"cost": {}, "ranking": {}}, "exactly one key"),
        ({}, "exactly one key"),
        ({"knee": {}}, "Field required"),
        ({"knee": {"parameter": "s", "tolerance": "-5%"}}, "must not be negative"),
        ({"knee": {"parameter": "s", "tolerence": "5%"}}, "Extra inputs"),
        ({"cost": {"of": "x"}}, "Extra inputs"),
    ],
)
def test_mistakes_are_named(form, message):
    with pytest.raises(ValidationError, match=message):
        Derive.model_validate(form)
