"""Files of leases: what a dead controller left is found by each kind of them, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.controller.jobs.queues import JobLease, JobLeaseFile
from steelyard.errors import HostError
from steelyard.provision.ec2.rental import Rental, RentalFile
from steelyard.provision.kubernetes.rental import PodRental, PodRentalFile
from steelyard.provision.lease_files import LeaseFile, leases_folder

KINDS = [
    (RentalFile, Rental("0123", "run-1", "run-1:1:2:3", "/runs/run-1", "eu-central-1", None)),
    (PodRentalFile, PodRental("0123", "run-1", "run-1:1:2:3", "/runs/run-1", None, "here", "ours", True)),
    (JobLeaseFile, JobLease("run-1", "/runs/run-1", "slurm", "0123")),
]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=KINDS, ids=lambda pair: pair[0].suffix)
def kind(request: pytest.FixtureRequest) -> tuple[type[LeaseFile[Any]], Any]:
    return request.param  # type: ignore[no-any-return]


def test_what_lives_is_left_alone_and_what_is_dead_is_released(kind: tuple[Any, Any]) -> None:
    cls, lease = kind
    released: list[Any] = []

    def release(file: LeaseFile[Any]) -> None:
        released.append(file.lease)
        file.remove()

    assert cls.give_back(lambda _: True, release) == []
    held = cls.create(lease)
    assert held.path == leases_folder() / f"run-1.0123{cls.suffix}"
    assert cls.give_back(lambda _: True, release) == []
    held.close()
    assert cls.give_back(lambda found: found.run != "run-1", release) == []
    assert not released
    assert cls.give_back(lambda found: found.run == "run-1", release) == []
    assert released == [lease]
    assert not list(leases_folder().iterdir())


def test_what_cannot_be_released_is_told_and_the_file_stays(kind: tuple[Any, Any]) -> None:
    cls, lease = kind
    file = cls.create(lease)
    file.close()

    def refuse(_: LeaseFile[Any]) -> None:
        raise HostError("nobody answers", hint="ask again")

    (problem,) = cls.give_back(lambda _: True, refuse)
    assert problem.splitlines() == [
        "what run run-1 left: nobody answers",
        "ask again",
        f"if nothing of it is there any more, remove {file.path}",
    ]
    assert list(leases_folder().iterdir()) == [file.path]


@pytest.mark.parametrize("change", [{"schema": 99}, {"run": 1}, {"folder": None}])
def test_another_versions_file_says_what_to_do(kind: tuple[Any, Any], change: dict[str, Any]) -> None:
    cls, lease = kind
    file = cls.create(lease)
    file.close()
    file.path.write_text(json.dumps(json.loads(file.path.read_text()) | change))
    (problem,) = cls.give_back(lambda _: True, LeaseFile.remove)
    assert problem == (
        f"{file.path} is truncated, or was written by another version of Steelyard\n{cls.unreadable}"
    )


def test_without_a_file_nothing_is_asked_for(kind: tuple[Any, Any], tmp_path: Path) -> None:
    cls, lease = kind
    (tmp_path / "state").write_text("not a directory")
    with pytest.raises(HostError, match=f"cannot record {cls.subject}: Not a directory") as said:
        cls.create(lease)
    assert said.value.hint.endswith(f"without this file, {cls.without}")
