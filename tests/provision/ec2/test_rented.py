"""Machines that are rented, used over SSH and given back, whatever happens."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from steelyard.errors import HostError, HostLost
from steelyard.hosts.base import Host, Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.sites.ec2 import Ec2

LINUX = """<DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><imagesSet><item>
<imageId>ami-0123456789abcdef0</imageId><platformDetails>Linux/UNIX</platformDetails>
</item></imagesSet></DescribeImagesResponse>"""

Story = Callable[[tuple[Host, ...]], Awaitable[Any]]


def lease(site: Ec2, story: Story, tmp_path: Path, hosts: int | None = None, run: str = "run-1") -> Any:
    async def whole() -> Any:
        async with site.lease(Token.of(run), tmp_path / "minder.log", hosts) as leased:
            return await story(leased)

    return asyncio.run(whole())


async def facts(hosts: tuple[Host, ...]) -> list[dict[str, Any]]:
    return [dict(host.facts) for host in hosts]


def refused(site: Ec2, tmp_path: Path, hosts: int | None = None) -> HostError:
    async def never(_: tuple[Host, ...]) -> None:
        raise AssertionError("it was leased")

    with pytest.raises(HostError) as caught:
        lease(site, never, tmp_path, hosts)
    return caught.value


def test_a_command_on_each_machine_and_nothing_left(cloud: Any, tmp_path: Path) -> None:
    async def story(hosts: tuple[Host, ...]) -> list[str]:
        said = []
        for number, host in enumerate(hosts):
            out = tmp_path / str(number)
            process = await host.start(
                Command(("echo", f"from {host.name}")), Streams(out, out), cwd=PurePosixPath("/")
            )
            assert (await process.wait()).code == 0
            said.append(out.read_text())
        assert set(cloud.machines().values()) == {"running"}
        return said

    said = lease(cloud.site(count=2), story, tmp_path)
    assert said == ["from c4.xlarge-0\n", "from c4.xlarge-1\n"]
    cloud.assert_empty(started=2)


@pytest.mark.full
def test_what_is_asked_for(cloud: Any, tmp_path: Path) -> None:
    site = cloud.site(volume="20GiB", tags={"team": "storage"}, at_most="2h")
    lease(site, facts, tmp_path)
    (asked,) = cloud.requests("RunInstances")
    (rental,) = {value for key, value in asked.items() if value.startswith("steelyard-") and key == "KeyName"}
    pairs = {
        value: asked[key.replace("Key", "Value")] for key, value in asked.items() if key.endswith(".Key")
    }
    assert pairs == {
        "Name": "steelyard run-1",
        "team": "storage",
        "steelyard:run": "run-1",
        "steelyard:rental": rental.removeprefix("steelyard-"),
    }
    assert asked["ClientToken"].startswith(rental.removeprefix("steelyard-"))
    assert asked["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert asked["MetadataOptions.HttpTokens"] == "required"
    assert asked["MetadataOptions.HttpPutResponseHopLimit"] == "1"
    assert asked["BlockDeviceMapping.1.Ebs.VolumeSize"] == "20"
    assert asked["BlockDeviceMapping.1.Ebs.DeleteOnTermination"] == "true"
    (rules,) = cloud.requests("AuthorizeSecurityGroupIngress")
    opened = {key: value for key, value in rules.items() if "Cidr" in key or "Port" in key}
    assert opened == {
        "IpPermissions.1.FromPort": "22",
        "IpPermissions.1.ToPort": "22",
        "IpPermissions.1.IpRanges.1.CidrIp": "127.0.0.1/32",
    }
    assert 7000 < (asyncio.run(site.fetch_seconds_left()) or 0) <= 7200


@pytest.mark.full
def test_several_types_come_in_the_files_order_and_only_as_many_as_are_needed(
    cloud: Any, tmp_path: Path
) -> None:
    site = cloud.site(types={"m4.xlarge": 1, "c4.xlarge": 3})

    async def names(hosts: tuple[Host, ...]) -> list[str]:
        return [host.name for host in hosts]

    assert lease(site, names, tmp_path, hosts=3) == ["m4.xlarge-0", "c4.xlarge-0", "c4.xlarge-1"]
    assert site.size() == 4
    cloud.assert_empty(started=3)


def test_the_record_tells_type_price_and_whose_keys_were_trusted(cloud: Any, tmp_path: Path) -> None:
    prices = {"per_hour": {"c4.xlarge": 0.199}, "source": "list", "date": "2015-08-01"}
    (one,) = lease(cloud.site(prices=prices), facts, tmp_path)
    assert one["type"] == "c4.xlarge"
    assert one["price"] == {"per_hour": 0.199, "currency": "USD", "source": "list", "date": "2015-08-01"}
    assert one["host_keys"]["learnt"] == "console"
    (shown,) = one["host_keys"]["fingerprints"]
    assert shown.startswith("ssh-ed25519 SHA256:")
    json.dumps(one)


@pytest.mark.full
def test_a_price_that_aws_does_not_tell_is_left_out(cloud: Any, tmp_path: Path) -> None:
    cloud.refuse("GetProducts", "AccessDeniedException")
    (one,) = lease(cloud.site(), facts, tmp_path)
    assert "price" not in one


@pytest.mark.full
def test_the_list_price_where_it_is_clear(cloud: Any, tmp_path: Path) -> None:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": "0.2270000000"}}
    product = {
        "terms": {"OnDemand": {"a": {"priceDimensions": {"b": dimension}}}},
        "publicationDate": "2026-11-18T00:00:00Z",
    }
    prices = json.dumps({"PriceList": [json.dumps(product)]})
    cloud.script(answer={"GetProducts": prices, "DescribeImages": LINUX})
    one, _ = lease(cloud.site(count=2), facts, tmp_path)
    assert (one["price"]["per_hour"], one["price"]["date"]) == (0.227, "2026-11-18")
    asked = cloud.requests("GetProducts")
    assert len(asked) == 1


@pytest.mark.full
def test_spot_machines(cloud: Any, tmp_path: Path) -> None:
    (one,) = lease(cloud.site(spot=True, max_price=0.05), facts, tmp_path)
    (asked,) = cloud.requests("RunInstances")
    assert asked["InstanceMarketOptions.MarketType"] == "spot"
    assert asked["InstanceMarketOptions.SpotOptions.MaxPrice"] == "0.050000"
    assert one["spot"] is True
    assert one["price"]["source"].startswith("spot price in eu-central-1")
    cloud.assert_empty(started=1)


@pytest.mark.full
def test_a_key_and_a_group_of_ones_own_are_used_and_kept(cloud: Any, tmp_path: Path) -> None:
    public = (cloud.folder / "key.pub").read_bytes()
    account = cloud.account()
    account.ask("import_key_pair", KeyName="mine", PublicKeyMaterial=public)
    group = account.ask("create_security_group", GroupName="mine", Description="mine")["GroupId"]
    site = cloud.site(key_name="mine", key=str(cloud.folder / "key"), security_groups=[group])
    lease(site, facts, tmp_path)
    cloud.assert_empty(started=1)
    assert account.ask("describe_key_pairs")["KeyPairs"]
    assert account.ask("describe_security_groups", GroupIds=[group])["SecurityGroups"]
    assert len(cloud.requests("ImportKeyPair")) == 1


def test_the_second_type_cannot_be_had_and_the_first_is_given_back(cloud: Any, tmp_path: Path) -> None:
    cloud.refuse("RunInstances", "InsufficientInstanceCapacity", "no room", type="m4.xlarge", status=500)
    error = refused(cloud.site(types={"c4.xlarge": 2, "m4.xlarge": 1}), tmp_path)
    assert "1 m4.xlarge could not be rented" in error.message
    assert "available at present: no room" in error.message
    assert "another `type`" in error.hint
    cloud.assert_empty(started=2)


@pytest.mark.full
def test_an_answer_that_never_came_is_not_lost(cloud: Any, tmp_path: Path) -> None:
    cloud.refuse("RunInstances", "InternalError", after=True, status=500)
    error = refused(cloud.site(count=2), tmp_path)
    assert "InternalError" in error.message
    states = cloud.machines()
    assert states
    assert set(states.values()) == {"terminated"}
    cloud.assert_empty()
    assert len({one["ClientToken"] for one in cloud.requests("RunInstances")}) == 1


@pytest.mark.full
def test_a_machine_that_never_lets_us_in(cloud: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("steelyard.provision.ec2.hosts.KEY_COMES_WITHIN", 0.2)
    error = refused(cloud.site(count=2, user="nobody"), tmp_path)
    assert "2 of 2 hosts could not be reached" in error.message
    assert "the key created for this run" in error.message
    assert "c4.xlarge-1" in error.message
    cloud.assert_empty(started=2)


@pytest.mark.parametrize("learnt", ["console", pytest.param("first-use", marks=pytest.mark.full)])
def test_somebody_else_answers_at_its_address(cloud: Any, tmp_path: Path, learnt: str) -> None:
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS"
    cloud.script(prints=other)
    site = cloud.site(host_keys=learnt)
    if learnt == "console":
        assert "host key of 127.0.0.1" in refused(site, tmp_path).message
        assert not site.warnings()
    else:
        (one,) = lease(site, facts, tmp_path)
        assert one["host_keys"]["learnt"] == "first-use"
        assert "the first server that answers" in site.warnings()[0]
    cloud.assert_empty(started=1)


@pytest.mark.full
def test_a_machine_that_prints_no_host_key(cloud: Any, tmp_path: Path) -> None:
    cloud.script(prints=False)
    error = refused(cloud.site(answer_within="1s"), tmp_path)
    assert "c4.xlarge-0 (i-" in error.message
    assert "printed no SSH host keys" in error.message
    assert "first-use" in error.hint
    cloud.assert_empty(started=1)


@pytest.mark.full
def test_a_type_that_knows_no_latest_console(cloud: Any, tmp_path: Path) -> None:
    cloud.script(refuse=[{"action": "GetConsoleOutput", "code": "UnsupportedOperation", "times": 1}])
    lease(cloud.site(), facts, tmp_path)
    assert ["Latest" in one for one in cloud.requests("GetConsoleOutput")] == [True, False]


@pytest.mark.parametrize(
    ("action", "stage"),
    [
        pytest.param("DescribeImages", 0, marks=pytest.mark.full),
        pytest.param("CreateSecurityGroup", 0, marks=pytest.mark.full),
        ("RunInstances", 2),
        pytest.param("DescribeInstances", 2, marks=pytest.mark.full),
        pytest.param("GetConsoleOutput", 2, marks=pytest.mark.full),
        pytest.param("TerminateInstances", 2, marks=pytest.mark.full),
    ],
)
def test_cancelled_in_each_stage(cloud: Any, tmp_path: Path, action: str, stage: int) -> None:
    cloud.script(delay={action: 0.7})

    async def nap(_: tuple[Host, ...]) -> None:
        return

    async def whole() -> None:
        async with cloud.site(count=2).lease(Token.of("run-1"), tmp_path / "log", None) as hosts:
            await nap(hosts)

    async def cancelled() -> None:
        task = asyncio.ensure_future(whole())
        while not cloud.requests(action):
            assert not task.done(), task
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.sleep(0.05)
        task.cancel()  # and once more, for the impatient
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    cloud.script()
    cloud.assert_empty(started=stage)


def test_what_cannot_be_given_back_is_told_and_stays_noted(cloud: Any, tmp_path: Path) -> None:
    cloud.refuse("TerminateInstances", "UnauthorizedOperation", "You are not AKIAIOSFODNN7EXAMPLE")

    async def story(_: tuple[Host, ...]) -> None:
        raise HostError("the first trouble")

    with pytest.raises(HostError, match="the first trouble") as caught:
        lease(cloud.site(), story, tmp_path)
    (machine,) = cloud.machines()
    assert machine in caught.value.message
    assert "do not allow ec2:TerminateInstances" in caught.value.message
    assert "steelyard clean" in caught.value.hint
    assert "AKIA" not in str(caught.value)
    (noted,) = cloud.leases()
    assert noted.stat().st_mode & 0o777 == 0o600
    assert machine in noted.read_text()


@pytest.mark.full
def test_no_credentials_reach_any_file_or_fact(cloud: Any, tmp_path: Path) -> None:
    said: list[str] = []

    async def story(hosts: tuple[Host, ...]) -> None:
        said.append(json.dumps(await facts(hosts)))
        said.extend(path.read_text() for path in cloud.leases())

    lease(cloud.site(), story, tmp_path)
    said.extend(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert len(said) >= 2
    assert not any("NotASecret" in text or "AKIA" in text or "PRIVATE" in text for text in said)


@pytest.mark.full
def test_throttling_is_waited_out(cloud: Any, tmp_path: Path) -> None:
    cloud.refuse("RunInstances", "RequestLimitExceeded", times=1, status=503)
    lease(cloud.site(), facts, tmp_path)
    assert len(cloud.requests("RunInstances")) == 2
    cloud.assert_empty(started=1)


@pytest.mark.full
def test_machines_that_stay_pending(cloud: Any, tmp_path: Path) -> None:
    empty = '<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/>'
    cloud.script(answer={"DescribeInstances": f"{empty}</DescribeInstancesResponse>"})
    error = refused(cloud.site(pending_within="1s"), tmp_path)
    assert "not running after 1 s" in error.message
    assert "pending_within" in error.hint
    cloud.script()
    cloud.assert_empty(started=1)


def test_unknown_image_and_no_credentials_and_no_region(cloud: Any, tmp_path: Path, monkeypatch: Any) -> None:
    assert "no such `image`" in refused(cloud.site(image="ami-00000000"), tmp_path).message
    assert "no AWS region" in refused(cloud.site(region=None), tmp_path).message
    assert "AWS `profile`" in refused(cloud.site(profile="nobody"), tmp_path).message
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "no AWS credentials" in refused(cloud.site(), tmp_path).message
    assert not cloud.requests("RunInstances")
    assert not cloud.leases()


def test_an_answer_that_is_none(cloud: Any, tmp_path: Path) -> None:
    cloud.script(answer={"DescribeImages": "<html>a proxy's own page"})
    error = refused(cloud.site(), tmp_path)
    assert "cannot be parsed" in error.message
    assert "proxy" in error.hint
    assert not cloud.leases()


@pytest.mark.full
def test_a_machine_that_aws_takes_back_is_told(cloud: Any, tmp_path: Path) -> None:
    async def story(hosts: tuple[Host, ...]) -> str:
        (host,) = hosts
        await host.check()
        cloud.account().ask("terminate_instances", InstanceIds=[host.facts["instance"]])
        await host._way.close()
        (cloud.folder / "authorized").write_text("")
        with pytest.raises(HostLost) as caught:
            await host.check()
        return caught.value.message

    said = lease(cloud.site(spot=True), story, tmp_path)
    assert said.startswith("host c4.xlarge-0 is lost: AWS reports that its machine was terminated: i-")
    cloud.assert_empty(started=1)


@pytest.mark.parametrize(("answer", "found"), [(b"192.0.2.7\n", "192.0.2.7/32"), (b"<html>", "")])
def test_only_our_own_address_is_let_in(
    cloud: Any, tmp_path: Path, monkeypatch: Any, answer: bytes, found: str
) -> None:
    class Echo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        monkeypatch.setattr(
            "steelyard.provision.ec2.fleet.WHO_AM_I", f"http://127.0.0.1:{server.server_port}"
        )
        if found:
            lease(cloud.site(reach_from=None), facts, tmp_path)
            (rules,) = cloud.requests("AuthorizeSecurityGroupIngress")
            assert rules["IpPermissions.1.IpRanges.1.CidrIp"] == found
        else:
            assert "our own address is unknown" in refused(cloud.site(reach_from=None), tmp_path).message
    cloud.assert_empty()


def test_where_the_lease_cannot_be_noted_nothing_is_rented(
    cloud: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    error = refused(cloud.site(), tmp_path)
    assert "cannot record what is rented" in error.message
    assert not cloud.requests("RunInstances")
    assert not cloud.requests("ImportKeyPair")


def test_without_boto3_it_says_what_to_install(tmp_path: Path, monkeypatch: Any) -> None:
    import sys

    from steelyard.sites.ec2 import Ec2Options

    monkeypatch.setitem(sys.modules, "boto3", None)
    site = Ec2(Ec2Options.model_validate({"image": "ami-0123456789abcdef0", "type": "c4.xlarge"}))
    assert "pip install steelyard[ec2]" in refused(site, tmp_path).hint
