"""A cloud on loopback: moto's EC2 API, and an sshd that plays every machine of it."""

from __future__ import annotations

import base64
import functools
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sshd
from patience import PATIENCE, until
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.order import RENTAL_TAG
from steelyard.provision.ec2.release import Patience
from steelyard.sites.ec2 import Ec2, Ec2Options

IMAGE, REGION = "ami-0123456789abcdef0", "eu-central-1"
QUICK = Patience(poll=0.02, start=10, end=10, appear=0.5)
SECRET = "NotASecretButLooksLikeOne0123456789abcde"
_AMI = {
    "ami_id": IMAGE,
    "name": "test",
    "description": "a Linux for tests",
    "owner_id": "123456789012",
    "public": True,
    "virtualization_type": "hvm",
    "architecture": "x86_64",
    "state": "available",
    "platform": None,
    "image_type": "machine",
    "hypervisor": "xen",
    "root_device_name": "/dev/sda1",
    "root_device_type": "ebs",
}
_CONSOLE = (
    '<GetConsoleOutputResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceId>i-1</instanceId>'
    "<output>{}</output></GetConsoleOutputResponse>"
)


class Cloud:
    """The API at `url`; `sshd` is every machine. `script` changes what it does, see server.py."""

    def __init__(self, folder: Path, sshd: Any) -> None:
        self.folder, self.sshd, self.url = folder, sshd, ""
        self.script()

    def start(self) -> subprocess.Popen[bytes]:
        (self.folder / "amis.json").write_text(json.dumps([_AMI]))
        server = Path(__file__).with_name("server.py")
        env = {**os.environ, "MOTO_AMIS_PATH": str(self.folder / "amis.json")}
        with (self.folder / "api.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, str(server), str(self.folder)], env=env, stdout=log, stderr=log
            )
        assert until(lambda: (self.folder / "port").exists() or process.poll() is not None)
        assert process.poll() is None, (self.folder / "api.log").read_text()
        self.url = f"http://127.0.0.1:{(self.folder / 'port').read_text()}"
        return process

    def reset(self) -> None:
        self.script()
        (self.folder / "requests").write_text("")
        (self.folder / "authorized").write_text("")
        request = urllib.request.Request(f"{self.url}/moto-api/reset", method="POST")
        urllib.request.urlopen(request, timeout=PATIENCE).close()

    def script(self, *, prints: bool | str = True, **more: Any) -> None:
        """`prints` says what host key a machine prints: its own, none, or this one."""
        key = prints if isinstance(prints, str) else (self.sshd.folder / "host_key.pub").read_text()
        block = f"-----BEGIN SSH HOST KEY KEYS-----\r\n{key}\r\n-----END SSH HOST KEY KEYS-----\r\n"
        text = f"[  1.2] Linux\r\n{block if prints else ''}login:"
        more.setdefault("answer", {})["GetConsoleOutput"] = _CONSOLE.format(
            base64.b64encode(text.encode()).decode()
        )
        (self.folder / "script.new").write_text(json.dumps(more))
        (self.folder / "script.new").rename(self.folder / "script.json")

    def refuse(self, action: str, code: str, message: str = "so it is", **more: Any) -> None:
        self.script(refuse=[{"action": action, "code": code, "message": message, **more}])

    def requests(self, action: str) -> list[dict[str, str]]:
        lines = map(json.loads, (self.folder / "requests").read_text().splitlines())
        return [line for line in lines if line["action"] == action]

    def account(self) -> AwsAccount:
        return AwsAccount(REGION, attempts=2)

    def machines(self) -> dict[str, str]:
        """State by id of all that was ever started."""
        pages = self.account().list_entries("describe_instances", "Reservations")
        return {one["InstanceId"]: one["State"]["Name"] for page in pages for one in page["Instances"]}

    def assert_empty(self, started: int | None = None) -> None:
        """Nothing of ours is left, in the cloud or in the folder of leases."""
        states = self.machines()
        assert set(states.values()) <= {"terminated"}, states
        assert started in (None, len(states))
        account = self.account()
        ours = [{"Name": "tag-key", "Values": [RENTAL_TAG]}]
        assert not account.ask("describe_key_pairs", Filters=ours)["KeyPairs"]
        assert not [
            one
            for one in account.ask("describe_security_groups")["SecurityGroups"]
            if one["GroupName"].startswith("steelyard")
        ]
        assert not self.leases()

    def leases(self) -> list[Path]:
        return sorted((Path(os.environ["XDG_STATE_HOME"]) / "steelyard" / "leases").glob("*"))

    def site(self, **options: Any) -> Ec2:
        """A site whose addresses ssh_config maps to the sshd."""
        given = {
            "region": REGION,
            "image": IMAGE,
            "user": _me(),
            "config": str(self.folder / "ssh_config"),
            "reach_from": "127.0.0.1/32",
            "answer_within": f"{PATIENCE:g}s",
            **({} if "types" in options else {"type": "c4.xlarge"}),
        }
        return Ec2(Ec2Options.model_validate({**given, **options}))


def _me() -> str:
    return str(__import__("getpass").getuser())


@pytest.fixture(scope="session")
def whole_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    lacking = [name for name in ("boto3", "moto", "flask", "flask_cors") if find_spec(name) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed (pip: boto3 moto flask flask-cors)")
    folder = tmp_path_factory.mktemp("cloud")
    with ExitStack() as scope:
        server = scope.enter_context(sshd.Sshd(folder))
        config = f"Host *\n  HostName 127.0.0.1\n  Port {server.port}\n"
        (folder / "ssh_config").write_text(config)
        cloud = Cloud(folder, server)
        process = cloud.start()
        scope.callback(process.wait)
        scope.callback(process.kill)
        yield cloud


@pytest.fixture
def cloud(whole_cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    settings = {
        "AWS_ENDPOINT_URL": whole_cloud.url,
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "STEELYARD_PROBE": "none",
    }
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("steelyard.provision.ec2.release.Patience.__init__.__defaults__", _quick())
    monkeypatch.setattr("steelyard.sites.ec2.AwsAccount", functools.partial(AwsAccount, attempts=2))
    whole_cloud.reset()
    yield whole_cloud
    whole_cloud.script()


def _quick() -> tuple[float, ...]:
    return (QUICK.poll, QUICK.start, QUICK.end, QUICK.appear)
