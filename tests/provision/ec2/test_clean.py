"""What a killed controller left is given back, and nothing of one that lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from patience import until
from steelyard.hosts.token import Token
from steelyard.provision.ec2.clean import clean_leases
from steelyard.provision.ec2.release import Patience

PATIENT = Patience(poll=0.05, end=10, appear=10)
Drive = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def drive(cloud: Any, tmp_path: Path) -> Iterator[Drive]:
    started = []

    def start(run: str = "run-1", **options: Any) -> subprocess.Popen[str]:
        program = str(Path(__file__).with_name("driver.py"))
        chosen = cloud.site(**options).options.model_dump_json(exclude_unset=True)
        process = subprocess.Popen(
            [sys.executable, program, run, str(tmp_path / run / "minder.log"), chosen],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout
    assert process.stdout.readline() == "ready\n"


def test_a_killed_controllers_machines_are_ended_and_those_of_a_live_one_are_not(
    cloud: Any, tmp_path: Path, drive: Drive
) -> None:
    dead, alive = drive("run-dead", count=2), drive("run-alive")
    ready(dead)
    ready(alive)
    assert clean_leases(lambda _: True, PATIENT).ended == {}  # both hold their files
    dead.kill()
    dead.wait()
    assert clean_leases(lambda _: False, PATIENT).ended == {}  # somebody knows that it lives
    asked = []
    found = clean_leases(lambda rental: bool(asked.append(rental)) or True, PATIENT)
    assert not found.problems
    assert {run: len(machines) for run, machines in found.ended.items()} == {"run-dead": 2}
    (rental,) = asked
    assert rental.folder == str(tmp_path / "run-dead")
    token = Token.from_text(rental.token)
    assert token
    assert token.is_dead()
    states = cloud.machines()
    assert sorted(states.values()) == ["running", "terminated", "terminated"]
    assert [path.name.partition(".")[0] for path in cloud.leases()] == ["run-alive"]
    assert len(cloud.account().ask("describe_key_pairs")["KeyPairs"]) == 1
    assert clean_leases(lambda _: True, PATIENT).ended == {}


@pytest.mark.full
@pytest.mark.parametrize(
    ("action", "machines"),
    [
        ("ImportKeyPair", 0),
        ("CreateSecurityGroup", 0),
        ("RunInstances", 2),
        ("DescribeInstances", 2),
        ("GetConsoleOutput", 2),
    ],
)
def test_killed_in_each_stage(cloud: Any, drive: Drive, action: str, machines: int) -> None:
    cloud.script(delay={action: 1.0})
    process = drive(count=2)
    assert until(lambda: cloud.requests(action))
    process.kill()
    process.wait()
    cloud.script()
    found = clean_leases(lambda _: True, PATIENT)
    assert not found.problems
    assert len(found.ended["run-1"]) == machines
    assert until(lambda: len(cloud.machines()) == machines)
    if action == "RunInstances":
        cloud.assert_empty(started=2)


@pytest.mark.full
def test_interrupted_as_by_a_person(cloud: Any, drive: Drive) -> None:
    process = drive()
    ready(process)
    process.send_signal(signal.SIGINT)
    assert process.wait() != 0
    cloud.assert_empty(started=1)


@pytest.mark.full
def test_killed_while_it_gives_back(cloud: Any, drive: Drive) -> None:
    process = drive()
    ready(process)
    cloud.script(delay={"TerminateInstances": 1.0})
    process.send_signal(signal.SIGINT)
    assert until(lambda: cloud.requests("TerminateInstances"))
    process.kill()
    process.wait()
    cloud.script()
    assert not clean_leases(lambda _: True, PATIENT).problems
    cloud.assert_empty(started=1)


@pytest.mark.full
def test_what_cannot_be_given_back_is_told_and_found_again(cloud: Any, drive: Drive) -> None:
    process = drive()
    ready(process)
    process.kill()
    process.wait()
    cloud.refuse("TerminateInstances", "UnauthorizedOperation")
    (kept,) = clean_leases(lambda _: True, Patience(poll=0.05, end=0.2, appear=1)).problems
    assert "do not allow ec2:TerminateInstances" in kept
    assert "steelyard clean" in kept
    cloud.script()
    assert not clean_leases(lambda _: True, PATIENT).problems
    cloud.assert_empty(started=1)


def test_a_file_that_cannot_be_understood_is_kept_and_told(cloud: Any) -> None:
    folder = Path(os.environ["XDG_STATE_HOME"]) / "steelyard" / "leases"
    assert clean_leases(lambda _: True).problems == []
    folder.mkdir(parents=True)
    (folder / "run-1.abc.ndjson").write_text('{"schema": 9}\n')
    (kept,) = clean_leases(lambda _: True, PATIENT).problems
    assert "another version" in kept
    assert (folder / "run-1.abc.ndjson").exists()


def test_where_nothing_was_rented_nobody_is_asked_and_boto3_is_not_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from steelyard.provision.ec2.clean import clean_leases; clean_leases(lambda _: True); "
        "from steelyard.sites.ec2 import Ec2; "
        "sys.exit({'boto3', 'botocore', 'asyncssh'} & set(sys.modules) != set())"
    )
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
