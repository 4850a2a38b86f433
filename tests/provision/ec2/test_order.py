"""The words in which EC2 is asked."""

from __future__ import annotations

from typing import Any

from steelyard.provision.ec2.order import Order, build_request, disks, rules, shutdown_script, tags

IMAGE = {
    "RootDeviceName": "/dev/xvda",
    "BlockDeviceMappings": [
        {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 8, "DeleteOnTermination": False}},
        {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 100, "DeleteOnTermination": False}},
        {"DeviceName": "/dev/sdc", "VirtualName": "ephemeral0"},
    ],
}


def asked(order: Order, kind: str = "c4.xlarge") -> dict[str, Any]:
    return build_request(
        order, kind, 2, image=IMAGE, key="k", groups=["sg-1"], labels=tags("r", "0", {}), token="t"
    )


def test_all_or_nothing_once_only() -> None:
    words = asked(Order("ami-1", (("c4.xlarge", 2),)))
    assert (words["MinCount"], words["MaxCount"], words["ClientToken"]) == (2, 2, "t")
    assert "InstanceMarketOptions" not in words
    assert "UserData" not in words


def test_the_metadata_service_asks_for_a_token() -> None:
    words = asked(Order("ami-1", (("c4.xlarge", 2),), spot=True))
    assert words["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}


def test_every_volume_goes_with_its_machine() -> None:
    sizes = [(disk["DeviceName"], disk["Ebs"]["VolumeSize"]) for disk in disks(IMAGE, 20)]
    assert sizes == [("/dev/xvda", 20), ("/dev/sdb", 100)]
    assert all(disk["Ebs"]["DeleteOnTermination"] for disk in disks(IMAGE, None))
    assert disks({}, 20) == []


def test_it_ends_itself_in_whole_minutes() -> None:
    assert shutdown_script(3600) == "#!/bin/sh\nshutdown -P +60\n"
    assert shutdown_script(61).endswith("+2\n")


def test_a_subnet_decides_the_address() -> None:
    words = asked(Order("ami-1", (), subnet="subnet-1", public=False))
    (card,) = words["NetworkInterfaces"]
    assert (card["SubnetId"], card["AssociatePublicIpAddress"], card["Groups"]) == (
        "subnet-1",
        False,
        ["sg-1"],
    )
    assert "SecurityGroupIds" not in words


def test_a_type_may_need_another_image() -> None:
    order = Order("ami-1", (), images={"m7g.large": "ami-2"})
    assert [asked(order, kind)["ImageId"] for kind in ("c4.xlarge", "m7g.large")] == ["ami-1", "ami-2"]


def test_the_tags_that_it_is_found_by_win() -> None:
    found = {one["Key"]: one["Value"] for one in tags("r", "0", {"steelyard:run": "other", "team": "a"})}
    assert found == {"Name": "steelyard r", "steelyard:run": "r", "team": "a", "steelyard:rental": "0"}


def test_only_ssh_and_only_from_here_and_all_among_themselves() -> None:
    ssh, among = rules("sg-1", "192.0.2.1/32")
    assert (ssh["FromPort"], ssh["ToPort"], ssh["IpRanges"][0]["CidrIp"]) == (22, 22, "192.0.2.1/32")
    assert "IpRanges" not in among
    assert among["UserIdGroupPairs"][0]["GroupId"] == "sg-1"
