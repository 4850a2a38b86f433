"""What AWS answers when it does not do what was asked: error codes in, sentences for people out.

The codes are those of the EC2 API reference, "Error codes for the Amazon EC2 API". AWS's own words are quoted
only where they cannot hold anything about the credentials.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from steelyard.errors import HostError

_ACCESS_KEY = re.compile(r"\b[A-Z]{4}[A-Z0-9]{16}\b")
_ENCODED = re.compile(r"Encoded authorization failure message:.*", re.DOTALL)
_ACTION = re.compile(r"perform: ([a-z0-9-]+:[A-Za-z]+)")
_MOST = 300
_UNSURE = ("InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable")


class CloudError(HostError):
    """AWS did not do what was asked. `code` is its word for why. Not `answered`: it may have done it."""

    def __init__(self, message: str, *, hint: str = "", code: str = "", answered: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.code, self.answered = code, answered


class _Explanation(NamedTuple):
    """What to make of a code: `quoted`, AWS's own words follow the message."""

    message: str
    hint: str
    quoted: bool = True


_NOT_ACCEPTED = _Explanation(
    "AWS does not accept the credentials",
    "try `aws sts get-caller-identity` with the same profile; a wrong clock on this machine can also cause "
    "this",
    quoted=False,
)
_EXPIRED = _Explanation(
    "the AWS credentials have expired", "log in again, for example with `aws sso login`", quoted=False
)
_NOT_ALLOWED = _Explanation(
    "these credentials do not allow {action}",
    "ask the account's administrator to allow it; docs/how-to/ec2.md lists all required actions",
    quoted=False,
)
_CAPACITY = _Explanation(
    "AWS has no {subject} available at present",
    "wait some minutes, set a `subnet` in another zone, or use another `type`",
)
_QUOTA = _Explanation(
    "the account's quota does not allow {subject}",
    "raise it in the AWS console under Service Quotas, use fewer or smaller machines, or terminate others",
)
_PRICE = _Explanation(
    "the maximum price is below the current price of a spot {subject}",
    "raise `max_price`, or remove it to pay up to the on-demand price",
)
_NO_IMAGE = _Explanation(
    "there is no such `image`",
    "image ids differ between regions, and images may be withdrawn; `aws ec2 describe-images` lists them",
)
_NO_VPC = _Explanation("the account has no default network there", "set a `subnet`")
_THROTTLED = _Explanation("AWS is limiting requests from this account", "wait a minute, then try again")
_NO_SUCH = _Explanation(
    "something named in the site's options does not exist in this region", "check the `region`"
)
_NOT_THERE = _Explanation(
    "{subject} is not available as requested",
    "check the spelling, or try another `type`, `image` or `subnet` (another zone)",
)
_NOT_OPEN = _Explanation("the AWS account is not ready for EC2", "see the AWS console for what is missing")
_NO_CREDENTIALS = _Explanation(
    "there are no AWS credentials",
    "run `aws configure` or `aws sso login`, set a `profile`, or set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY",
    quoted=False,
)
_NO_REGION = _Explanation(
    "no AWS region is chosen",
    "give the site a `region`, such as eu-central-1, or set AWS_DEFAULT_REGION",
    quoted=False,
)
_NO_PROFILE = _Explanation("there is no such AWS `profile`", "`aws configure list-profiles` lists them")
_UNREACHED = _Explanation("AWS does not answer", "is this machine online, and is the `region` spelled right?")
_GARBLED = _Explanation(
    "the answer from AWS cannot be parsed",
    "is there a proxy in between, or is AWS_ENDPOINT_URL set?",
    quoted=False,
)

_CODES = {
    _NOT_ACCEPTED: "AuthFailure InvalidClientTokenId SignatureDoesNotMatch UnrecognizedClientException "
    "IncompleteSignature MissingAuthenticationToken InvalidAccessKeyId",
    _EXPIRED: "ExpiredToken ExpiredTokenException RequestExpired",
    _NOT_ALLOWED: "UnauthorizedOperation AccessDenied AccessDeniedException Client.UnauthorizedOperation",
    _CAPACITY: "InsufficientInstanceCapacity InsufficientHostCapacity InsufficientReservedInstanceCapacity "
    "SpotInstanceCapacityNotAvailable",
    _QUOTA: "InstanceLimitExceeded VcpuLimitExceeded MaxSpotInstanceCountExceeded VolumeLimitExceeded "
    "MaxSpotFleetRequestCountExceeded SecurityGroupLimitExceeded KeyPairLimitExceeded",
    _PRICE: "SpotMaxPriceTooLow",
    _NO_IMAGE: "InvalidAMIID.NotFound InvalidAMIID.Malformed InvalidAMIID.Unavailable",
    _NO_VPC: "VPCIdNotSpecified DefaultVpcDoesNotExist DefaultSubnetNotFound MissingInput",
    _THROTTLED: "RequestLimitExceeded Throttling ThrottlingException RequestThrottled",
    _NO_SUCH: "InvalidSubnetID.NotFound InvalidSubnet InvalidGroup.NotFound InvalidGroupId.Malformed "
    "InvalidSecurityGroupID.NotFound InvalidKeyPair.NotFound InvalidSubnetID.Malformed",
    _NOT_THERE: "Unsupported UnsupportedOperation InvalidInstanceType InvalidParameterCombination "
    "InvalidParameterValue",
    _NOT_OPEN: "OptInRequired PendingVerification Blocked",
    _NO_CREDENTIALS: "NoCredentialsError PartialCredentialsError CredentialRetrievalError "
    "SSOError SSOTokenLoadError UnauthorizedSSOTokenError TokenRetrievalError NoAuthTokenError",
    _NO_REGION: "NoRegionError InvalidRegionError",
    _NO_PROFILE: "ProfileNotFound",
    _GARBLED: "ResponseParserError",
    _UNREACHED: "HTTPClientError ConnectionError EndpointConnectionError",
}
_SENTENCES = {code: said for said, codes in _CODES.items() for code in codes.split()}


def explain(error: Exception, action: str, subject: str) -> CloudError:
    """The sentence for an exception of boto3; `action` is as ec2:RunInstances, `subject` what it is about."""
    response: dict[str, Any] = getattr(error, "response", None) or {}
    told = response.get("Error", {})
    code, words = str(told.get("Code", "")), str(told.get("Message", "") or error)
    answered = bool(code) and code not in _UNSURE
    names = [code] if code else [kind.__name__ for kind in type(error).__mro__]
    said = next((_SENTENCES[name] for name in names if name in _SENTENCES), None)
    if said is None:
        return CloudError(
            _join_parts(f"{action} failed", code or names[0], words), code=names[0], answered=answered
        )
    asked = _ACTION.search(words)
    message = said.message.format(action=asked[1] if asked else action, subject=subject)
    if said.quoted:
        message = _join_parts(message, "", words)
    return CloudError(message, hint=said.hint, code=names[0], answered=answered)


def _join_parts(message: str, code: str, words: str) -> str:
    return ": ".join(part for part in (message, code, _redact(words)) if part)


def _redact(words: str) -> str:
    """AWS's words without what may say something about the credentials."""
    return _ACCESS_KEY.sub("…", _ENCODED.sub("", " ".join(words.split())))[:_MOST].rstrip(" .")
