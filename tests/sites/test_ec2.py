"""What people write of machines to rent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import SpecError, UsageError
from steelyard.sites.ec2 import Ec2, Ec2Options
from steelyard.spec.sites import resolve

IMAGE = "ami-0123456789abcdef0"


def site(**given: Any) -> Ec2:
    return Ec2(Ec2Options.model_validate({"image": IMAGE, **given}))


def test_as_many_as_asked_for_or_as_the_roles_take() -> None:
    one = site(type="c4.xlarge")
    assert one.size() is None
    assert [one.make_order(hosts).types for hosts in (None, 3)] == [(("c4.xlarge", 1),), (("c4.xlarge", 3),)]
    four = site(type="c4.xlarge", **Ec2.parse_shorthand("4"))
    assert four.size() == 4
    assert four.make_order(None).types == (("c4.xlarge", 4),)


def test_types_are_taken_in_the_order_of_the_file() -> None:
    several = site(types={"m4.xlarge": 2, "c4.xlarge": 1})
    assert several.size() == 3
    assert several.make_order(None).types == (("m4.xlarge", 2), ("c4.xlarge", 1))
    assert several.make_order(2).types == (("m4.xlarge", 2),)


def test_an_entry_of_sites_yaml(own_place: Path) -> None:
    Path("sites.yaml").write_text(
        f"cloud: {{use: ec2, image: {IMAGE}, type: c7i.xlarge, region: eu-central-1, volume: 20GiB}}\n"
    )
    found = resolve("cloud:3").site
    assert isinstance(found, Ec2)
    assert (found.size(), found.make_order(None).volume) == (3, 20)
    assert asyncio.run(found.fetch_seconds_left()) is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "give either a `type`"),
        ({"type": "c4.xlarge", "types": {"c4.xlarge": 1}}, "give either a `type`"),
        ({"types": {"c4.xlarge": 1}, "count": 4}, "already sets the number of hosts"),
        ({"type": "c4.xlarge", "max_price": 0.1}, "spot: true"),
        ({"type": "c4.xlarge", "key": "~/.ssh/key"}, "key_name"),
        ({"type": "c4.xlarge", "reach": "private"}, "reach_from"),
        ({"type": "c4.xlarge", "reach_from": "anywhere"}, "does not appear to be an IPv4"),
        ({"type": "c4.xlarge", "tags": {"aws:x": "1"}}, "are reserved"),
        ({"type": "c4.xlarge", "images": {"m7g.large": IMAGE}}, "m7g.large is not among the types"),
        ({"type": "c4.xlarge", "image": "debian"}, "does not match the pattern"),
        ({"type": "c4.xlarge", "at_most": "1min"}, "at_most"),
    ],
)
def test_what_does_not_go_together_is_told(own_place: Path, given: dict[str, Any], says: str) -> None:
    import json

    Path("sites.yaml").write_text(json.dumps({"rented": {"use": "ec2", "image": IMAGE, **given}}))
    with pytest.raises(SpecError, match=says):
        resolve("rented")


def test_without_an_entry_it_says_what_is_missing(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_place))
    with pytest.raises(SpecError, match="image"):
        resolve("ec2:4")
    with pytest.raises(UsageError, match="as in ec2:4"):
        resolve("ec2:many")
