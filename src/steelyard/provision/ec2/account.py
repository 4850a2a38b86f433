"""The AWS account in one region, asked through boto3."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from steelyard.errors import HostError
from steelyard.provision.ec2.errors import explain

ATTEMPTS = 6
"""Tries of one request. boto3 waits longer and longer between them, half a minute altogether."""
_FIRST = re.compile(r"(^|_)([a-z])")


@dataclass
class AwsAccount:
    """Whose machines are rented, and where. None stands for what AWS's own settings say.

    Credentials stay with boto3, which finds them as the `aws` command does; nothing here reads or keeps them.
    It may be used by several threads.
    """

    region: str | None = None
    profile: str | None = None
    attempts: int = ATTEMPTS
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def ask(
        self, operation: str, subject: str = "it", *, service: str = "ec2", **words: Any
    ) -> dict[str, Any]:
        """What AWS answers to `run_instances` and the like. Raises CloudError with a sentence for people."""
        action = f"{service}:{_FIRST.sub(lambda match: match[2].upper(), operation)}"
        try:
            answer: dict[str, Any] = getattr(self._get_client(service), operation)(**words)
        except _error_types() as error:
            raise explain(error, action, subject) from None
        return answer

    def list_entries(self, operation: str, key: str, **words: Any) -> Iterator[dict[str, Any]]:
        """All entries of an answer that may come in several parts. Raises CloudError."""
        answer = self.ask(operation, **words)
        yield from answer.get(key, ())
        while token := answer.get("NextToken"):
            answer = self.ask(operation, **words, NextToken=token)
            yield from answer.get(key, ())

    def resolve_region(self) -> str:
        """The region, whoever chose it. Raises CloudError when nobody did."""
        client: Any = None
        try:
            client = self._get_client("ec2")
        except _error_types() as error:
            raise explain(error, "ec2", "it") from None
        return str(client.meta.region_name)

    def close(self) -> None:
        """Give up the connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _get_client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self._make_client(service)
            return self._clients[service]

    def _make_client(self, service: str) -> Any:
        # Machines that are paid for wait while prices are looked up, so there is little patience for those.
        tries, reach, answer = (1, 3, 10) if service == "pricing" else (self.attempts, 10, 30)
        config = import_module("botocore.config").Config(
            retries={"mode": "standard", "total_max_attempts": tries},
            connect_timeout=reach,
            read_timeout=answer,
        )
        session = _import_boto3().Session(profile_name=self.profile, region_name=self.region)
        region = PRICE_LIST.get(session.region_name, "us-east-1") if service == "pricing" else None
        return session.client(service, config=config, region_name=region)


PRICE_LIST = {"eu-central-1": "eu-central-1", "ap-south-1": "ap-south-1"}
"""The price list has end points in these regions and in us-east-1 only, and each knows all prices."""


def _import_boto3() -> Any:
    try:
        return import_module("boto3")
    except ImportError as error:
        hint = "run `pip install steelyard[ec2]`"
        raise HostError(
            "site ec2 needs the Python package boto3, which is not installed", hint=hint
        ) from error


def _error_types() -> tuple[type[Exception], ...]:
    """What boto3 raises. Where it is missing nothing of it is."""
    try:
        exceptions, garbled = import_module("botocore.exceptions"), import_module("botocore.parsers")
    except ImportError:
        return ()
    return exceptions.BotoCoreError, exceptions.ClientError, garbled.ResponseParserError
