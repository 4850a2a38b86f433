"""The file about what is rented."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import HostError
from steelyard.provision.ec2.rental import GROUP, Rental, RentalFile
from steelyard.provision.lease_files import leases_folder

RENTAL = Rental("0123", "run-1", "run-1:1:2:3", "/runs/run-1", "eu-central-1", None)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_written_at_once_readable_by_the_owner_alone_and_locked_while_it_is_held() -> None:
    file = RentalFile.create(RENTAL)
    assert file.path == leases_folder() / "run-1.0123.ndjson"
    assert (file.path.stat().st_mode & 0o777, leases_folder().stat().st_mode & 0o777) == (0o600, 0o700)
    file.record_request("c4.xlarge", 2)
    assert RentalFile.from_abandoned(file.path) is None
    file.close()
    taken = RentalFile.from_abandoned(file.path)
    assert taken
    assert taken.lease == RENTAL
    taken.close()
    assert [path.name for path in leases_folder().iterdir()] == ["run-1.0123.ndjson"]


def test_what_was_asked_and_what_came() -> None:
    file = RentalFile.create(RENTAL)
    file.record_request(GROUP)
    file.record_ids(GROUP, ["sg-1"])
    file.record_request("c4.xlarge", 2)
    file.record_ids("c4.xlarge", ["i-1", "i-2"])
    file.record_request("m4.xlarge", 3)
    file.close()
    taken = RentalFile.from_abandoned(file.path)
    assert taken
    assert taken.machine_ids() == ["i-1", "i-2"]
    assert taken.requests[GROUP].ids == ("sg-1",)
    waits = {kind: request.is_pending(60) for kind, request in taken.machines().items()}
    assert waits == {"c4.xlarge": False, "m4.xlarge": True}
    assert not taken.requests["m4.xlarge"].is_pending(0)
    taken.close()


def test_a_last_line_that_was_cut_off_is_not_missed() -> None:
    file = RentalFile.create(RENTAL)
    file.record_request("c4.xlarge", 2)
    file.close()
    whole = file.path.read_bytes()
    for cut in range(whole.index(b"\n") + 2, len(whole)):
        file.path.write_bytes(whole[:cut])
        taken = RentalFile.from_abandoned(file.path)
        assert taken
        assert set(taken.requests) == ({"c4.xlarge"} if cut == len(whole) - 1 else set())
        taken.close()


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1}\n', '{"schema": 2}\n', "\0\0"])
def test_one_that_is_none_is_told(text: str) -> None:
    leases_folder().mkdir(parents=True)
    path = leases_folder() / "run-1.0.ndjson"
    path.write_text(text)
    with pytest.raises(HostError, match="truncated, or was written by another version"):
        RentalFile.from_abandoned(path)


def test_one_that_goes_away_meanwhile_is_none() -> None:
    file = RentalFile.create(RENTAL)
    file.remove()
    file.remove()
    assert RentalFile.from_abandoned(file.path) is None
    file.close()
