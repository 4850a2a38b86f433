"""Where a run goes when nobody, the file or the caller says so."""

from __future__ import annotations

import pytest

from steelyard.controller.choices import RunChoices, choose_site
from steelyard.errors import UsageError
from steelyard.model.experiment import Experiment


def experiment(**more):
    part = {
        "use": "command",
        "run": ["true"],
        **({"on": next(iter(more["roles"]))} if "roles" in more else {}),
    }
    return Experiment(experiment="e", workload=part, **more)


@pytest.mark.parametrize(
    ("roles", "name"),
    [
        ({}, "local"),
        ({"roles": {"only": 1}}, "local"),
        ({"roles": {"every": "all"}}, "local"),
        ({"roles": {"db": 1, "client": 1}}, "local:2"),
        ({"roles": {"db": 3, "load": "all"}}, "local:4"),
        ({"roles": {"db": 3, "load": {"hosts": 2, "shares": "db"}}}, "local:3"),
    ],
)
def test_this_machine_plays_as_many_hosts_as_the_roles_need(roles, name):
    found = choose_site(None, experiment(**roles))
    assert found.name == name
    assert found.site.size() == int(name.partition(":")[2] or 1)
    assert ("no site was given" in "".join(found.notes)) == (name != "local")


def test_who_names_a_site_gets_that_one():
    two = {"roles": {"db": 1, "client": 1}}
    assert choose_site(RunChoices("local:3"), experiment(**two)).name == "local:3"
    assert choose_site(None, experiment(**two, site="local:5")).notes == ()
    assert choose_site(None, experiment(**two), "local:2").notes == ()
    with pytest.raises(UsageError, match="the site has 1"):
        choose_site(RunChoices("local"), experiment(**two))


@pytest.mark.parametrize(
    ("length", "notes", "fault"),
    [
        ({"length": "59s"}, 0, ""),
        (
            {"length": "60s"},
            0,
            r"entry 1 \(pause_host\): `length` is 60.0 s, but site guests:2 counts a host as",
        ),
        ({"length": "${long}"}, 0, r"`length` is 100 s, but site guests:2 counts a host as lost after"),
        ({}, 1, ""),
    ],
)
def test_a_pause_must_not_lose_its_host(length, notes, fault):
    timeline = [{"do": "pause_host", "on": "db", **length}]
    made = experiment(roles={"db": 1, "load": 1}, timeline=timeline, parameters={"long": ["5s", "100s"]})
    if fault:
        with pytest.raises(UsageError, match=fault) as said:
            choose_site(RunChoices("guests:2"), made)
        assert "raise `lost_after` of the site" in said.value.hint
        return
    named = choose_site(RunChoices("guests:2"), made)
    assert len(named.notes) == notes
    assert all("without `length` it lasts until the end of the trial" in note for note in named.notes)
    assert choose_site(RunChoices(named), made).notes == named.notes, "and says so once"
