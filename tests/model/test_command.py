"""Secrets of a command and of an endpoint: handed on, never shown."""

from __future__ import annotations

from steelyard.model.command import Command, Endpoint


def test_a_secret_is_a_variable_that_does_not_show():
    command = Command(("run",), {"A": "1"}, secrets={"PASSWORD": "s3cret"})
    assert command.variables == {"A": "1", "PASSWORD": "s3cret"}
    assert command.env == {"A": "1"}
    assert "s3cret" not in repr(command)
    assert command.wrap("numactl").variables == command.variables


def test_an_endpoint_does_not_show_its_password():
    endpoint = Endpoint("10.0.0.1", 1, {"protocol": "x"}, "s3cret")
    assert endpoint.password == "s3cret"
    assert "s3cret" not in f"{endpoint} {endpoint.facts}"
