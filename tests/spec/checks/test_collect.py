"""`collect` in files, in the schema and in the explanations of keys; its mistakes are in golden/."""

from __future__ import annotations

import pytest

from steelyard.errors import SpecError
from steelyard.model.keys.collect import list_collectors
from steelyard.plugins import builtin_names
from steelyard.spec.keys import explain_key
from steelyard.spec.load import load_source
from steelyard.spec.schema import schema
from steelyard.spec.yaml.source import read

FILE = "experiment: x\nworkload: {use: command, run: [x]}\n"


def collectors(text: str) -> list[str]:
    return [use.table for use in list_collectors(load_source(read(FILE + text, "file")))]


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("", ["telemetry"]),
        ("telemetry: off", []),
        ("collect: telemetry", ["telemetry"]),
        ("collect: {use: pressure}", ["telemetry", "pressure"]),
        ("telemetry: {every: 2s}\ncollect: [pressure]", ["telemetry", "pressure"]),
        ("telemetry: off\ncollect: [pressure]", ["pressure"]),
        ("collect: [pressure, {use: pressure, as: jobs}]", ["telemetry", "pressure", "jobs"]),
    ],
)
def test_telemetry_is_one_of_them_unless_it_is_off(text: str, tables: list[str]):
    assert collectors(text) == tables


@pytest.mark.parametrize("telemetry", ["off", "{every: 1s}"])
def test_both_forms_of_telemetry_are_one_too_many(telemetry: str):
    with pytest.raises(SpecError, match="file:3:1  telemetry: 'collect' lists it as well"):
        collectors(f"telemetry: {telemetry}\ncollect: [telemetry]")


def test_one_mistake_gives_one_message():
    with pytest.raises(SpecError) as caught:
        collectors("services: {web: {use: 17}}\ncollect: [{use: prometheus, from: wep, metrics: [a]}]")
    assert len(caught.value.problems) == 1


def test_the_schema_has_the_options_of_each_collector():
    name, mapping = schema()["$defs"]["CollectorUse"]["anyOf"]
    assert name == {"type": "string"}
    assert {"use", "on", "from", "as"} == set(mapping["properties"])
    entries = {entry["title"]: set(entry["properties"]) for entry in mapping["anyOf"] if "title" in entry}
    assert set(entries) == builtin_names("collectors")
    assert entries["pressure"] == {"use", "every", "cgroup"}


def test_keys_and_options_are_explained():
    assert set(explain_key("collect").inside) == {"use", "on", "from", "as"}
    assert "service" in explain_key("collect.from").about
    assert explain_key("pressure.cgroup").about.startswith("A control group's path")
    assert explain_key("prometheus").example.startswith("use: prometheus")
