"""Machines rented from Amazon EC2."""

from __future__ import annotations

import ipaddress
import math
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from steelyard.plugin import Duration, Size
from steelyard.plugin.host import Host
from steelyard.plugin.site import Prices, Site, SiteOptions
from steelyard.plugin.transport import Login, Token
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.order import Order

MOST = 1000
_GIB = 1 << 30

Image = Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")]
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$")]
Count = Annotated[int, Field(ge=1, le=MOST)]


def _check_network(text: str) -> str:
    if ipaddress.ip_network(text).version != 4:
        raise ValueError(f"{text} is not an IPv4 network")
    return text


def _check_tags(tags: dict[str, str]) -> dict[str, str]:
    taken = [key for key in tags if key.lower().startswith(("aws:", "steelyard:"))]
    if taken:
        raise ValueError(f"{', '.join(taken)}: tags with this prefix are reserved")
    return tags


class Ec2Options(SiteOptions):
    """What is rented, and how it is reached. Credentials are found as the `aws` command finds them."""

    region: str | None = Field(None, description="Region, such as eu-central-1; default: AWS's own settings")
    profile: str | None = Field(None, description="AWS profile; default: AWS's own settings")
    image: Image = Field(description="Image (AMI) to start; its id is valid in one region only")
    type: Kind | None = Field(None, description="Machine type, such as c7i.xlarge")
    types: dict[Kind, Count] = Field(
        default_factory=dict,
        description="Number of machines of each type, in host order: {c4.xlarge: 2, m4.xlarge: 1}",
    )
    images: dict[Kind, Image] = Field(
        default_factory=dict,
        description="Images of types that need another one, such as those with ARM cores",
    )
    count: Count | None = Field(
        None, description="Number of machines of `type`; default: as many as the roles take"
    )
    user: str = Field(
        "ec2-user", description="Login user: ec2-user on Amazon Linux, ubuntu on Ubuntu, admin on Debian"
    )
    key_name: str | None = Field(None, description="Your key pair in EC2; default: one created for the run")
    key: str | None = Field(None, description="Private key file of `key_name`")
    security_groups: tuple[Annotated[str, Field(pattern=r"^sg-[0-9a-f]+$")], ...] = Field(
        (),
        description=(
            "Ids of security groups that allow port 22 from this machine; default: one created for the run"
        ),
    )
    reach_from: Annotated[str, AfterValidator(_check_network)] | None = Field(
        None,
        description="Network that may reach port 22 (CIDR); default: this machine's address as seen by AWS",
    )
    subnet: str | None = Field(
        None,
        pattern=r"^subnet-[0-9a-f]+$",
        description="Subnet, which determines the zone; default: a default subnet",
    )
    reach: Literal["public", "private"] = Field("public", description="Which of their addresses to use")
    spot: bool = Field(False, description="Spot machines: cheaper, and AWS may take them back at any time")
    max_price: float | None = Field(None, gt=0, description="Maximum price per hour of a spot machine, USD")
    tags: Annotated[dict[str, str], AfterValidator(_check_tags)] = Field(
        default_factory=dict, description="Your own tags for everything that is rented"
    )
    volume: Size | None = Field(None, ge=_GIB, description="Size of the root volume; default: the image's")
    config: str | None = Field(
        None, description="File to read instead of ~/.ssh/config; `none` reads no file"
    )
    scratch: str | None = Field(None, pattern="^/", description="Directory for test data on the machine")
    host_keys: Literal["console", "first-use"] = Field(
        "console",
        description="Which SSH host keys to trust: those that the machine prints on its console, or those "
        "of the first server that answers",
    )
    prices: Prices | None = Field(None, description="Prices by type; default: AWS's prices, where available")
    pending_within: Duration = Field(Duration(300.0), ge=1, le=3600, description="Time limit for starting")
    answer_within: Duration = Field(
        Duration(300.0), ge=1, le=3600, description="Time limit for booting until SSH answers"
    )
    lost_after: Duration = Field(
        Duration(15.0), ge=1, le=600, description="Time without an answer after which a host counts as lost"
    )
    at_most: Duration = Field(
        Duration(86400.0),
        ge=300,
        le=30 * 86400,
        description="Time after which the machines terminate themselves in any case; a run stops before that",
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if bool(self.type) == bool(self.types):
            raise ValueError("give either a `type`, such as c7i.xlarge, or `types` with the number of each")
        if self.types and self.count is not None:
            raise ValueError("`types` already sets the number of hosts; remove the separate number")
        if self.max_price is not None and not self.spot:
            raise ValueError("max_price applies only to spot machines: add `spot: true`")
        if self.key is not None and self.key_name is None:
            raise ValueError("key is the private key of `key_name`; add `key_name`")
        if self.reach == "private" and not (self.security_groups or self.reach_from):
            raise ValueError(
                "with `reach: private`, set `reach_from` to a network, or give `security_groups`"
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
    """Machines rented from Amazon EC2 for one run, and terminated when it ends, however it ends.

    `ec2:4` rents four; sites.yaml describes them, as in `ec2: {image: ami-…, type: c7i.xlarge}`, and
    docs/how-to/ec2.md explains how to begin. They are reached over SSH, with a key created for the run. Hosts
    are named by type and number, `c4.xlarge-0`, in the order of `types`. The machines cost money as long as
    they run.
    """

    Options = Ec2Options
    count_option = "count"
    covers = ("FNAL.8", "SF.OFC.024")
    examples = ({"image": "ami-0123456789abcdef0", "type": "c7i.xlarge", "count": 4},)

    def __init__(self, options: Ec2Options) -> None:
        super().__init__(options)
        self._ends: float | None = None

    def size(self) -> int | None:
        """As many as were asked for; None for as many as the roles take."""
        return sum(self.options.types.values()) or self.options.count

    async def fetch_seconds_left(self) -> float | None:
        """Until the machines end themselves."""
        return None if self._ends is None else self._ends - time.monotonic()

    def warnings(self) -> tuple[str, ...]:
        """That host keys are not known beforehand, where that was chosen."""
        if self.options.host_keys == "console":
            return ()
        return ("site ec2: host_keys is `first-use`: the first server that answers at an address is trusted",)

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Machines that are rented now and given back at the end of the block."""
        # asyncssh takes a third of a second to load, which only a run has to pay.
        from steelyard.provision.ec2.hosts import Use, rent_hosts
        from steelyard.provision.ec2.release import Patience

        options = self.options
        self._ends = time.monotonic() + options.at_most
        use = Use(
            _login(options),
            host_key_source=options.host_keys,
            answer_within=options.answer_within,
            scratch=PurePosixPath(options.scratch) if options.scratch else None,
            prices=options.prices,
        )
        account = AwsAccount(options.region, options.profile)
        return rent_hosts(
            account, self.make_order(hosts), use, token, log, Patience(start=options.pending_within)
        )

    def make_order(self, hosts: int | None) -> Order:
        """What is rented for so many hosts."""
        options = self.options
        return Order(
            options.image,
            options.numbers(hosts),
            images=options.images,
            key_name=options.key_name,
            groups=options.security_groups,
            reach_from=options.reach_from,
            subnet=options.subnet,
            public=options.reach == "public",
            spot=options.spot,
            max_price=options.max_price,
            tags=options.tags,
            volume=math.ceil(options.volume / _GIB) if options.volume else None,
            at_most=options.at_most,
        )


def _login(options: Ec2Options) -> Login:
    """How to get in, once the machines have addresses."""
    return Login(
        "",
        options.user,
        key=options.key,
        config=options.config,
        agent=options.key_name is not None,
        lost_after=options.lost_after,
    )
