"""Machines rented from Amazon EC2."""

from __future__ import annotations

import ipaddress
import math
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard.model.uses import Prices
from steelyard.remote.base import Host
from steelyard.remote.ec2.account import AwsAccount
from steelyard.remote.ec2.order import Order
from steelyard.remote.login import Login
from steelyard.remote.token import Token
from steelyard.sites.base import Site, SiteOptions
from steelyard.units import Duration, Size

MOST = 1000
_GIB = 1 << 30

Image = Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")]
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$")]
Count = Annotated[int, Field(ge=1, le=MOST)]


def _check_network(text: str) -> str:
    if ipaddress.ip_network(text).version != 4:
        raise ValueError(f"{text} is no IPv4 network")
    return text


def _check_tags(tags: dict[str, str]) -> dict[str, str]:
    taken = [key for key in tags if key.lower().startswith(("aws:", "steelyard:"))]
    if taken:
        raise ValueError(f"{', '.join(taken)}: tags of that beginning are not yours to give")
    return tags


class Ec2Options(SiteOptions):
    """What is rented, and how it is reached. Credentials are found as the `aws` command finds them."""

    region: str | None = Field(None, description="Where, such as eu-central-1; without it AWS's own settings")
    profile: str | None = Field(None, description="AWS profile; without it AWS's own settings")
    image: Image = Field(description="Image (AMI) to start; its id holds in one region only")
    type: Kind | None = Field(None, description="Type of the machines, such as c7i.xlarge")
    types: dict[Kind, Count] = Field(
        default_factory=dict,
        description="How many of each of several types, in the hosts' order: {c4.xlarge: 2, m4.xlarge: 1}",
    )
    images: dict[Kind, Image] = Field(
        default_factory=dict,
        description="Images of types that need another one, such as those with ARM cores",
    )
    count: Count | None = Field(None, description="Machines of `type`; without it as many as the roles take")
    user: str = Field(
        "ec2-user", description="Who logs in: ec2-user on Amazon Linux, ubuntu on Ubuntu, admin on Debian"
    )
    key_name: str | None = Field(
        None, description="A key pair of yours in EC2; without it one is made for the run"
    )
    key: str | None = Field(None, description="File of the private key of `key_name`")
    security_groups: tuple[Annotated[str, Field(pattern=r"^sg-[0-9a-f]+$")], ...] = Field(
        (), description="Ids of groups that let us in at port 22; without them one is made for the run"
    )
    reach_from: Annotated[str, AfterValidator(_check_network)] | None = Field(
        None, description="Network that may reach port 22 (CIDR); without it the address that AWS sees us at"
    )
    subnet: str | None = Field(
        None, pattern=r"^subnet-[0-9a-f]+$", description="Subnet, and so the zone; without it a default one"
    )
    reach: Literal["public", "private"] = Field("public", description="By which of their addresses")
    spot: bool = Field(False, description="Spot machines: cheaper, and AWS may take them back at any time")
    max_price: float | None = Field(None, gt=0, description="Most to pay for an hour of a spot machine, USD")
    tags: Annotated[dict[str, str], AfterValidator(_check_tags)] = Field(
        default_factory=dict, description="Tags of yours on all that is rented"
    )
    volume: Size | None = Field(None, ge=_GIB, description="Size of the root volume; without it the image's")
    config: str | None = Field(None, description="File to read in place of ~/.ssh/config; `none` reads none")
    scratch: str | None = Field(None, pattern="^/", description="Directory for test data there")
    host_keys: Literal["console", "first-use"] = Field(
        "console",
        description="Whose SSH host keys are trusted: those that the machine prints on its console, or those "
        "of whoever answers first",
    )
    prices: Prices | None = Field(None, description="Prices by type; without them AWS's, where it tells")
    pending_within: Duration = Field(Duration(300.0), ge=1, le=3600, description="Bound on starting to run")
    answer_within: Duration = Field(
        Duration(300.0), ge=1, le=3600, description="Bound on booting, until SSH answers"
    )
    lost_after: Duration = Field(
        Duration(15.0), ge=1, le=600, description="Silence after which a host counts as lost"
    )
    at_most: Duration = Field(
        Duration(86400.0),
        ge=300,
        le=30 * 86400,
        description="Time after which the machines end themselves, whatever happens; a run stops before",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if bool(self.type) == bool(self.types):
            raise ValueError("give a `type`, such as c7i.xlarge, or `types` with how many of each")
        if self.types and self.count is not None:
            raise ValueError("`types` says how many of each type, so a number of hosts does not go with it")
        if self.max_price is not None and not self.spot:
            raise ValueError("max_price is for spot machines: add `spot: true`")
        if self.key is not None and self.key_name is None:
            raise ValueError("key is the private key of `key_name`, which is missing")
        if self.reach == "private" and not (self.security_groups or self.reach_from):
            raise ValueError(
                "with `reach: private` say `reach_from` which network, or give `security_groups`"
            )
        if unused := set(self.images) - {self.type, *self.types}:
            raise ValueError(f"images: {', '.join(sorted(unused))} is not among the types")
        return self

    def numbers(self, hosts: int | None) -> tuple[tuple[str, int], ...]:
        """How many of each type make so many hosts, from the first on."""
        if self.type:
            return ((self.type, hosts or self.count or 1),)
        left, pairs = hosts or sum(self.types.values()), []
        for kind, count in self.types.items():
            taken = min(count, left)
            left -= taken
            if taken:
                pairs.append((kind, taken))
        return tuple(pairs)


class Ec2(Site[Ec2Options]):
    """Machines rented from Amazon EC2 for one run, and given back when it ends, however it ends.

    `ec2:4` rents four; what they are stands in sites.yaml, as `ec2: {image: ami-…, type: c7i.xlarge}`, and
    docs/ec2.md says how to begin. They are reached over SSH, by a key that is made for the run. Hosts are
    called by type and number, `c4.xlarge-0`, in the order of `types`. It costs money as long as it runs.
    """

    options = Ec2Options
    count_option = "count"

    def __init__(self, chosen: Ec2Options) -> None:
        super().__init__(chosen)
        self._ends: float | None = None

    def size(self) -> int | None:
        """As many as were asked for; None for as many as the roles take."""
        return sum(self.chosen.types.values()) or self.chosen.count

    async def seconds_left(self) -> float | None:
        """Until the machines end themselves."""
        return None if self._ends is None else self._ends - time.monotonic()

    def warnings(self) -> tuple[str, ...]:
        """That host keys are not known beforehand, where that was chosen."""
        if self.chosen.host_keys == "console":
            return ()
        return ("site ec2: host_keys is `first-use`: whoever answers first at an address is trusted",)

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Machines that are rented now and given back at the end of the block."""
        # asyncssh takes a third of a second to load, which only a run has to pay.
        from steelyard.remote.ec2.hosts import Use, rent_hosts
        from steelyard.remote.ec2.release import Patience

        chosen = self.chosen
        self._ends = time.monotonic() + chosen.at_most
        use = Use(
            _login(chosen),
            learnt=chosen.host_keys,
            answer_within=chosen.answer_within,
            scratch=PurePosixPath(chosen.scratch) if chosen.scratch else None,
            prices=chosen.prices,
        )
        account = AwsAccount(chosen.region, chosen.profile)
        return rent_hosts(account, self.order(hosts), use, token, log, Patience(start=chosen.pending_within))

    def order(self, hosts: int | None) -> Order:
        """What is rented for so many hosts."""
        chosen = self.chosen
        return Order(
            chosen.image,
            chosen.numbers(hosts),
            images=chosen.images,
            key_name=chosen.key_name,
            groups=chosen.security_groups,
            reach_from=chosen.reach_from,
            subnet=chosen.subnet,
            public=chosen.reach == "public",
            spot=chosen.spot,
            max_price=chosen.max_price,
            tags=chosen.tags,
            volume=math.ceil(chosen.volume / _GIB) if chosen.volume else None,
            at_most=chosen.at_most,
        )


def _login(chosen: Ec2Options) -> Login:
    """How to get in, once the machines have addresses."""
    return Login(
        "",
        chosen.user,
        key=chosen.key,
        config=chosen.config,
        agent=chosen.key_name is not None,
        lost_after=chosen.lost_after,
    )
