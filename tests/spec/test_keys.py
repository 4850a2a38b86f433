"""Every key of an experiment file is explained, with an example that is sound."""

from __future__ import annotations

import pytest

from steelyard.cli.app import run
from steelyard.errors import UnknownName
from steelyard.model.experiment import Experiment
from steelyard.plugins import builtin_names
from steelyard.spec.change import dump
from steelyard.spec.keys import examples, explain_key
from steelyard.spec.load import load_source
from steelyard.spec.yaml.source import read

TOP = list(Experiment.model_json_schema()["properties"])
KINDS = ("workloads", "services", "events", "collectors")
ENTRIES = [name for kind in KINDS for name in sorted(builtin_names(kind) - set(TOP))]


def below(path, depth=3):
    yield path
    if depth:
        for name in explain_key(path).inside:
            yield from below(f"{path}.{name}", depth - 1)


@pytest.mark.parametrize("key", TOP)
def test_it_has_a_meaning_at_every_depth_and_an_example(key):
    assert [path for path in below(key) if not explain_key(path).about] == []
    assert explain_key(key).example.startswith((f"{key}:", "roles:", "parameters:"))


@pytest.mark.parametrize(("key", "text"), examples().items())
def test_its_example_is_sound(key, text):
    tree = dict(read(text, key).value)
    assert key in tree
    tree.setdefault("experiment", "example")
    if "workload" not in tree:
        role = {"on": next(iter(tree["roles"]))} if "roles" in tree else {}
        tree["workload"] = {"use": "command", "run": ["true"], **role}
    load_source(read(dump(tree), key))


def test_there_is_an_example_of_every_key_and_of_no_other():
    assert set(examples()) == set(TOP)


@pytest.mark.parametrize("name", ENTRIES)
def test_catalogue_entries_are_explained_with_their_options(name):
    found = explain_key(name)
    assert found.about
    assert (found.default, found.path) == ("", name)
    for option in list(found.inside)[:5]:
        assert explain_key(f"{name}.{option}").takes


def test_what_it_takes_and_its_default_are_told():
    assert explain_key("order").takes == "blocked | random | as-written"
    assert (explain_key("order").default, explain_key("disturbed").default) == ("blocked", "replace")
    assert explain_key("repeat").default == "see the keys inside"
    assert explain_key("repeat.until.within").default is None
    assert "such as 5s" in explain_key("timeout").takes


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("repea", "did you mean 'repeat'"),
        ("repeat.untill", "did you mean 'until'"),
        ("ska1.outstandin", "did you mean 'outstanding'"),
        ("repeat.", "unknown key ''"),
        ("order.random", "unknown key 'random'"),
    ],
)
def test_an_unknown_key_is_told_with_what_there_is(path, says):
    with pytest.raises(UnknownName, match=says):
        explain_key(path)


def test_the_terminal_shows_it(capsys):
    assert run(("schema", "repeat")) == 0
    shown = capsys.readouterr().out
    assert "at_least: 6" in shown
    assert "keys inside" in shown
    assert run(("schema", "repeat", "--json")) == 0
    assert '"path": "repeat"' in capsys.readouterr().out
    assert run(("schema", "nothing")) == 2
