"""`use: object`: what may be asked, and what the driver is told."""

from __future__ import annotations

import dataclasses
import json
from pathlib import PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.model.command import Endpoint, Place
from steelyard.workloads.object import Object

S3 = Endpoint(
    "10.0.0.1", 7070, {"protocol": "s3", "user": "KEY", "region": "north", "tls": "false"}, "hidden"
)
PLACE = Place(PurePosixPath("/scratch"), PurePosixPath("/raw"), 2, 2**30, 17)


def made(**options) -> Object:
    return Object(Object.Options.model_validate({"duration": "5s", **options}))


def command(stage: str = "run", place: Place = PLACE, **options):
    phases = {phase.name: phase.command for phase in made(**options).phases(place)}
    return phases[stage]


def job(to: Endpoint | None = S3, stage: str = "run", place: Place = PLACE, **options):
    return json.loads(command(stage, dataclasses.replace(place, to=to), **options).stdin or "{}")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"operations": 5}, "either duration or operations"),
        ({"mix": {"delete": 1}}, "delete: 1 is more than write: 0"),
        ({"mix": {}}, "share above 0"),
        ({"arrivals": "poisson"}, "needs a rate"),
        ({"rate": "0/s"}, "above 0"),
        ({"omit": "5s"}, "leaves nothing"),
        ({"interval": "2s"}, "duration: 5s is not a multiple of the interval 2s"),
        ({"size": {"from": "2KiB", "to": "1KiB"}}, "is more than to"),
        ({"size": "6GiB"}, "at most 5 GiB"),
        ({"size": []}, "at least 1 item"),
        ({"size": 7}, "has no unit"),
        ({"server": "store.example"}, "user: `server` needs one"),
        ({"secret_variable": "KEY"}, "only `server` needs it"),
        ({"prefix": "../x"}, "pattern"),
    ],
)
def test_wrong_combinations_are_refused(options, why):
    with pytest.raises(ValidationError, match=why):
        made(**options)


def test_a_service_says_how_it_is_reached():
    told = job(mix={"read": 1}, rate="100/s")
    assert (told["server"], told["port"], told["tls"], told["user"]) == ("10.0.0.1", 7070, False, "KEY")
    assert (told["api"], told["region"], told["secret"]) == ("s3", "north", "STEELYARD_SERVICE_PASSWORD")
    swift = dataclasses.replace(S3, facts={"protocol": "swift", "auth_url": "http://10.0.0.1:7070/auth/v1.0"})
    assert job(swift)["auth_path"] == "/auth/v1.0"


def test_a_secret_is_in_the_environment_alone():
    made_for = command(place=dataclasses.replace(PLACE, to=S3))
    assert made_for.secrets == {"STEELYARD_SERVICE_PASSWORD": "hidden"}
    assert "hidden" not in f"{made_for.argv} {made_for.env} {made_for.stdin} {made_for}"


def test_a_server_that_the_options_name():
    asked = {"server": "store.example", "user": "KEY"}
    assert job(None, **asked) | {"names": 0} == job(None, **asked) | {"names": 0, "tls": True, "port": 443}
    assert job(None, **asked)["secret"] == "AWS_SECRET_ACCESS_KEY"
    assert job(None, **asked, protocol="swift")["secret"] == "ST_KEY"
    assert job(None, **asked, secret_variable="OURS")["secret"] == "OURS"


def test_without_a_server_or_a_known_protocol_it_says_what_to_do():
    assert "set the option 'server:'" in command().argv[-1]
    kv = dataclasses.replace(PLACE, to=dataclasses.replace(S3, facts={"protocol": "redis"}))
    assert "speaks s3 and swift, not 'redis'" in command(place=kv).argv[-1]


def test_copies_share_the_rate_and_have_containers_of_their_own():
    places = [dataclasses.replace(PLACE, copy=copy, copies=3) for copy in range(3)]
    told = [job(place=place, rate="90/s") for place in places]
    assert [each["pace"]["rate"] for each in told] == [30.0] * 3
    assert len({each["names"]["prefix"] for each in told}) == 3
    counts = [
        json.loads(Object(Object.Options.model_validate({"operations": 10})).phases(
            dataclasses.replace(place, to=S3))[1].command.stdin)["pace"]["operations"]
        for place in places
    ]  # fmt: skip
    assert sum(counts) == 10


def test_sizes():
    assert made(size="1KiB").options.bands == ((1.0, 1024, 1024),)
    bands = [{"from": "1B", "to": "3B", "weight": 1}, {"from": "9B", "to": "11B", "weight": 3}]
    assert made(size=bands).options.bands == ((1.0, 1, 3), (3.0, 9, 11))
    assert made(size=bands).options.mean_size == 8.0
