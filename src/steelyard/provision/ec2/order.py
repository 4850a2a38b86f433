"""What is to be rented, and the words in which EC2 is asked for it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

RUN_TAG = "steelyard:run"
RENTAL_TAG = "steelyard:rental"
"""By this tag whatever was rented is found again, whoever looks for it."""

# A request that somebody talks a program on the machine into must not fetch the credentials there: version 2
# of the metadata service wants a token first, and its answer goes one hop, so to no container or proxy.
_METADATA = {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}


@dataclass(frozen=True, slots=True)
class Order:
    """Machines: `types` are pairs of type and number, in the order of the hosts.

    `image` is for all types that `images` does not name. Without `key_name` a key pair is made, without
    `groups` a security group, which lets `reach_from` (CIDR; None: this machine's address) in at port 22.
    `public`: they are reached by their public address. `max_price` is that of an hour of a spot machine, in
    USD. `volume` is the size of the root volume in GiB. After `at_most` seconds they end themselves.
    """

    image: str
    types: tuple[tuple[str, int], ...]
    images: Mapping[str, str] = field(default_factory=dict)
    key_name: str | None = None
    groups: tuple[str, ...] = ()
    reach_from: str | None = None
    subnet: str | None = None
    public: bool = True
    spot: bool = False
    max_price: float | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    volume: int | None = None
    at_most: float | None = None

    def image_of(self, kind: str) -> str:
        """The image of machines of a type."""
        return self.images.get(kind, self.image)


def tags(run: str, rental: str, more: Mapping[str, str]) -> list[dict[str, str]]:
    """The tags of everything that is rented: yours, and those it is found again by."""
    every = {"Name": f"steelyard {run}", **more, RUN_TAG: run, RENTAL_TAG: rental}
    return [{"Key": key, "Value": value} for key, value in every.items()]


def tag_filter(rental: str) -> dict[str, Any]:
    """The filter that finds what was rented."""
    return {"Name": f"tag:{RENTAL_TAG}", "Values": [rental]}


def build_request(
    order: Order,
    kind: str,
    count: int,
    *,
    image: Mapping[str, Any],
    key: str,
    groups: Sequence[str],
    labels: Sequence[Mapping[str, str]],
    token: str,
) -> dict[str, Any]:
    """The words of RunInstances for so many machines of a type, all of them or none.

    `token` makes it safe to ask again: the same token never starts more machines.
    """
    words: dict[str, Any] = {
        "ImageId": order.image_of(kind),
        "InstanceType": kind,
        "MinCount": count,
        "MaxCount": count,
        "KeyName": key,
        "ClientToken": token,
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": _METADATA,
        "BlockDeviceMappings": disks(image, order.volume),
        "TagSpecifications": [
            {"ResourceType": thing, "Tags": list(labels)} for thing in ("instance", "volume")
        ],
        **_network(order, groups),
    }
    if order.at_most is not None:
        words["UserData"] = shutdown_script(order.at_most)
    if order.spot:
        words["InstanceMarketOptions"] = _market_options(order.max_price)
    return words


def shutdown_script(seconds: float) -> str:
    """A script, run once by cloud-init: with all else dead, the machine still ends itself."""
    return f"#!/bin/sh\nshutdown -P +{max(1, math.ceil(seconds / 60))}\n"


def disks(image: Mapping[str, Any], volume: int | None) -> list[dict[str, Any]]:
    """The image's volumes, all of which go with the machine: some images say that they shall stay."""
    mappings = []
    for disk in image.get("BlockDeviceMappings", ()):
        if "Ebs" in disk:
            root = disk["DeviceName"] == image.get("RootDeviceName")
            size = volume if volume and root else disk["Ebs"].get("VolumeSize")
            ebs = {"DeleteOnTermination": True, **({"VolumeSize": size} if size else {})}
            mappings.append({"DeviceName": disk["DeviceName"], "Ebs": ebs})
    return mappings


def _network(order: Order, groups: Iterable[str]) -> dict[str, Any]:
    if order.subnet is None:
        return {"SecurityGroupIds": list(groups)}
    card = {
        "DeviceIndex": 0,
        "SubnetId": order.subnet,
        "Groups": list(groups),
        "AssociatePublicIpAddress": order.public,
        "DeleteOnTermination": True,
    }
    return {"NetworkInterfaces": [card]}


def _market_options(most: float | None) -> dict[str, Any]:
    options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    if most is not None:
        options["MaxPrice"] = f"{most:f}"
    return {"MarketType": "spot", "SpotOptions": options}


def rules(group: str, reach_from: str) -> list[dict[str, Any]]:
    """What a security group lets in: us by SSH, and its machines among each other."""
    us = {"CidrIp": reach_from, "Description": "steelyard's controller"}
    among = {"GroupId": group, "Description": "machines of the same run"}
    return [
        {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [us]},
        {"IpProtocol": "-1", "UserIdGroupPairs": [among]},
    ]
