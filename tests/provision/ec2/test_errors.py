"""From AWS's error codes to sentences, without anything that tells of the credentials."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.provision.ec2.errors import CloudError, explain


class Answered(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.response = {"Error": {"Code": code, "Message": message}}


def said(code: str, message: str = "so it is") -> CloudError:
    return explain(Answered(code, message), "ec2:RunInstances", "2 of c4.xlarge")


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (
            "InsufficientInstanceCapacity",
            "AWS has no 2 of c4.xlarge available at present: so it is",
            "another `type`",
        ),
        ("VcpuLimitExceeded", "quota does not allow 2 of c4.xlarge", "Service Quotas"),
        ("SpotMaxPriceTooLow", "below the current price of a spot 2 of c4.xlarge", "raise `max_price`"),
        ("InvalidAMIID.NotFound", "no such `image`", "between regions"),
        ("RequestLimitExceeded", "is limiting requests", "wait a minute"),
        ("VPCIdNotSpecified", "no default network", "`subnet`"),
        ("ExpiredToken", "credentials have expired", "aws sso login"),
    ],
)
def test_a_code_becomes_a_sentence(code: str, message: str, hint: str) -> None:
    error = said(code)
    assert message in error.message
    assert hint in error.hint
    assert error.code == code
    assert error.answered


def test_what_is_not_permitted_is_named() -> None:
    told = "User: arn:aws:iam::123456789012:user/ann is not authorized to perform: ec2:CreateTags on resource"
    assert said("UnauthorizedOperation", told).message == "these credentials do not allow ec2:CreateTags"
    assert said("UnauthorizedOperation").message == "these credentials do not allow ec2:RunInstances"


@pytest.mark.parametrize("code", ["AuthFailure", "UnauthorizedOperation", "Odd", "InvalidParameterValue"])
def test_no_key_comes_through(code: str) -> None:
    words = "for AKIAIOSFODNN7EXAMPLE, ASIAIOSFODNN7EXAMPLE. Encoded authorization failure message: q1w2e3r4"
    text = str(said(code, words))
    assert "EXAMPLE" not in text
    assert "q1w2" not in text


def test_an_unknown_code_is_shown_with_its_words() -> None:
    assert said("Odd", "It is\n odd.").message == "ec2:RunInstances failed: Odd: It is odd"


@pytest.mark.parametrize(
    ("code", "answered"), [("InternalError", False), ("Unavailable", False), ("Odd", True)]
)
def test_whether_it_may_have_been_done_all_the_same(code: str, answered: bool) -> None:
    assert said(code).answered is answered


def test_trouble_of_boto3_itself() -> None:
    exceptions: Any = pytest.importorskip("botocore.exceptions", reason="boto3 is not installed")
    errors = {
        "no AWS credentials": exceptions.NoCredentialsError(),
        "no AWS region": exceptions.NoRegionError(),
        "does not answer": exceptions.EndpointConnectionError(endpoint_url="https://ec2.example"),
        "does not answer: Read": exceptions.ReadTimeoutError(endpoint_url="https://ec2.example"),
    }
    for words, error in errors.items():
        found = explain(error, "ec2:RunInstances", "it")
        assert words in found.message
        assert found.hint
        assert not found.answered
