"""What `${…}` may name beside parameters."""

from __future__ import annotations

from graphlib import CycleError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.command import Endpoint
from steelyard.model.expression import substitute
from steelyard.model.keys.reference import (
    Placeholders,
    credentials,
    endpoint_references,
    fill_script,
    find_references,
    find_services,
    order_services,
    variables,
)
from steelyard.model.keys.uses import ServiceUse


def use(**options) -> ServiceUse:
    return ServiceUse(use="program", on="host", options=options)


def test_a_service_is_known_by_its_first_server_and_by_all():
    endpoint = Endpoint("10.0.0.1", 80, {"servers": "10.0.0.1:80,10.0.0.2:80", "admin_port": "81"})
    found = endpoint_references("web", endpoint, ("10.0.0.1", "10.0.0.2"))
    assert found == {
        "web.address": "10.0.0.1",
        "web.addresses": "10.0.0.1,10.0.0.2",
        "web.port": 80,
        "web.endpoint": "10.0.0.1:80",
        "web.endpoints": "10.0.0.1:80,10.0.0.2:80",
        "web.admin_port": 81,
    }
    assert variables({**found, "experiment.dir": "/home"})["STEELYARD_WEB_ADMIN_PORT"] == "81"
    assert "STEELYARD_EXPERIMENT_DIR" not in variables({"experiment.dir": "/home"})


def test_an_address_of_ipv6_stands_in_brackets_before_a_port():
    assert endpoint_references("web", Endpoint("fd00::1", 80), ("fd00::1",))["web.endpoint"] == "[fd00::1]:80"


def test_who_names_a_service_is_told_its_password_and_its_authority():
    endpoint = Endpoint("10.0.0.1", 80, {"user": "me"}, "secret", "PEM")
    shown, secrets = credentials({"kv": endpoint, "web": Endpoint("10.0.0.1", 81)})
    assert shown == {"STEELYARD_KV_USER": "me", "STEELYARD_KV_AUTHORITY": "PEM"}
    assert secrets == {"STEELYARD_KV_PASSWORD": "secret"}


def test_what_is_not_known_yet_has_something_of_its_type_in_its_place():
    names = Placeholders({"n": 4})
    tree = {"port": "${kv.port}", "next": "${kv.port + n}", "at": "${kv.address}", "in": "${experiment.dir}"}
    tree["own"] = "${address}:${admin_port}"
    assert substitute(tree, names) == {
        "port": 1,
        "next": 5,
        "at": "127.0.0.1",
        "in": "/",
        "own": "127.0.0.1:1",
    }
    with pytest.raises(KeyError):
        names["nowhere"]


@given(st.text(), st.dictionaries(st.sampled_from(["kv.port", "a.b"]), st.integers()))
def test_of_a_script_only_what_is_known_is_filled_in(text, known):
    assert fill_script(text, {}) == text
    assert not set(find_references(fill_script(text, known))) & known.keys()


def test_services_come_after_those_that_they_name():
    services = {
        "front": use(script="x ${middle.port} ${HOME}"),
        "middle": use(run=["x", "${back.port}", "${self.port}"]),
        "back": use(run=["x"]),
    }
    assert order_services(services) == ["back", "middle", "front"]
    by_variable = {"front": use(script="x $STEELYARD_BACK_TWO_PORT"), "back": use(), "back_two": use()}
    assert find_services(by_variable["front"].options, by_variable) == {"back_two"}
    assert order_services(by_variable)[-1] == "front"
    with pytest.raises(CycleError):
        order_services({"a": use(run=["${b.port}"]), "b": use(env={"A": "${a.address}"})})
    with pytest.raises(CycleError):
        order_services({"a": use(run=["${a.port}"])})
