"""Ask EC2 for machines, and wait until they run. It blocks, and is meant for a thread of its own."""

from __future__ import annotations

import ipaddress
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard.errors import HostError
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.errors import CloudError
from steelyard.provision.ec2.order import Order, build_request, rules, tags
from steelyard.provision.ec2.release import Patience
from steelyard.provision.ec2.rental import GROUP, KEY_PAIR, Rental, RentalFile
from steelyard.provision.ec2.startup import Described, RentedMachine, await_running, make_machine

WHO_AM_I = "https://checkip.amazonaws.com"
"""It answers with the address that a request came from; AWS keeps it for this purpose."""


class LaunchStopped(Exception):
    """Nobody wants the machines any more."""


class Fleet:
    """The machines of an order. What is asked for is noted in `file` first, and so can be given back."""

    def __init__(self, account: AwsAccount, order: Order, file: RentalFile, patience: Patience) -> None:
        self._account, self._order, self._file, self._patience = account, order, file, patience
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask for nothing more; from another thread."""
        self._stop.set()

    def launch(self, public_key: str | None) -> list[RentedMachine]:
        """Machines that run, in the order's order; a key pair is made of the key.

        Raises HostError, and Stopped. Then, too, there may be something to give back.
        """
        images = {kind: self._find_image(self._order.image_of(kind)) for kind, _ in self._order.types}
        key = self._order.key_name or self._import_key_pair(public_key or "")
        groups = self._order.groups or (self._create_group(),)
        started: dict[str, list[str]] = {}
        for kind, count in self._order.types:
            started[kind] = self._start(kind, count, image=images[kind], key=key, groups=groups)
        described = await_running(self._account, self._file, self._patience, self._pause)
        by_id = {one["InstanceId"]: one for one in described}
        return [
            make_machine(by_id[ident], number, images[kind])
            for kind, ids in started.items()
            for number, ident in enumerate(ids)
        ]

    def _find_image(self, ident: str) -> dict[str, Any]:
        images = self._account.ask("describe_images", f"the image {ident}", ImageIds=[ident])["Images"]
        if not images:
            hint = "image ids differ between regions"
            raise HostError(f"there is no image {ident} in {self._rental.region}", hint=hint)
        image: dict[str, Any] = images[0]
        return image

    def _import_key_pair(self, public_key: str) -> str:
        words: dict[str, Any] = {"TagSpecifications": [self._labels(KEY_PAIR)]}
        words["PublicKeyMaterial"] = public_key.encode()
        with self._note_request(KEY_PAIR) as got:
            made = self._account.ask("import_key_pair", KeyName=self._rental.name, **words)
            got.append(str(made["KeyPairId"]))
        return self._rental.name

    def _create_group(self) -> str:
        opened = self._order.reach_from or f"{find_own_address()}/32"
        where = {"VpcId": vpc} if (vpc := self._find_vpc()) else {}
        with self._note_request(GROUP) as got:
            made = self._account.ask(
                "create_security_group",
                "a security group",
                GroupName=self._rental.name,
                Description="Steelyard: SSH from its controller, and all between the machines of a run",
                TagSpecifications=[self._labels(GROUP)],
                **where,
            )
            got.append(str(made["GroupId"]))
        (group,) = got
        self._account.ask(
            "authorize_security_group_ingress", GroupId=group, IpPermissions=rules(group, opened)
        )
        return group

    def _find_vpc(self) -> str | None:
        if self._order.subnet is None:
            return None
        subnets = self._account.ask("describe_subnets", "the subnet", SubnetIds=[self._order.subnet])[
            "Subnets"
        ]
        return str(subnets[0]["VpcId"])

    def _start(
        self, kind: str, count: int, *, image: Described, key: str, groups: tuple[str, ...]
    ) -> list[str]:
        words = build_request(
            self._order,
            kind,
            count,
            image=image,
            key=key,
            groups=groups,
            labels=self._labels("")["Tags"],
            token=f"{self._rental.id}-{kind}",
        )
        try:
            with self._note_request(kind, count) as got:
                answer = self._account.ask("run_instances", f"{count} of {kind}", **words)
                got += [one["InstanceId"] for one in answer["Instances"]]
        except CloudError as error:
            raise HostError(f"{count} {kind} could not be rented: {error.message}", hint=error.hint) from None
        return got

    @contextmanager
    def _note_request(self, kind: str, count: int = 1) -> Iterator[list[str]]:
        """Ask for something, noted before and after: it is known of, whatever happens in between."""
        self._pause()
        self._file.record_request(kind, count)
        got: list[str] = []
        try:
            yield got
        except CloudError as error:
            if error.answered:
                self._file.record_ids(kind, ())
            raise
        self._file.record_ids(kind, got)

    @property
    def _rental(self) -> Rental:
        return self._file.lease

    def _labels(self, thing: str) -> dict[str, Any]:
        return {"ResourceType": thing, "Tags": tags(self._rental.run, self._rental.id, self._order.tags)}

    def _pause(self, seconds: float = 0.0) -> None:
        if self._stop.wait(seconds):
            raise LaunchStopped


def find_own_address() -> str:
    """The address from which AWS sees us. Raises HostError."""
    try:
        with urllib.request.urlopen(WHO_AM_I, timeout=10) as answer:
            return str(ipaddress.IPv4Address(answer.read(64).decode("ascii").strip()))
    except (OSError, ValueError) as error:
        hint = "set the site's `reach_from`, such as 203.0.113.7/32, or your own `security_groups`"
        raise HostError(
            f"our own address is unknown: {WHO_AM_I} does not answer: {error}", hint=hint
        ) from error
