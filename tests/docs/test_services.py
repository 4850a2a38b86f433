"""docs/reference/services.md names every service and every option that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.plugins import builtin_names, find
from steelyard.services.base import Service

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "services.md").read_text()
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", sorted(builtin_names("services")))
def test_a_service_is_described_with_its_options(name):
    assert f"| `{name}` |" in PAGE, "the table of all services lacks it"
    if f"`steelyard catalog {name}`" in SECTIONS[name]:
        return
    told = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", SECTIONS[name], re.MULTILINE))))
    assert told == set(find("services", name, Service).Options.model_fields)


@pytest.mark.parametrize("name", sorted(builtin_names("services")))
def test_it_says_who_may_use_it(name):
    (row,) = re.findall(rf"^\| `{name}` \| [^|]+ \| ([^|]+) \|", PAGE, re.MULTILINE)
    asks_for_nothing = any(listener.is_open for listener in find("services", name, Service).access)
    assert asks_for_nothing == ("**no password**" in row)
    assert re.match(
        r"clients (with the run's (password|key)|from)|anyone who can reach it|the run alone", row
    )
