"""Wait until what was asked for runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import HostError
from steelyard.remote.ec2.account import Account
from steelyard.remote.ec2.release import Patience
from steelyard.remote.ec2.rental import RentalFile
from steelyard.remote.ec2.trouble import CloudError

_AT_ONCE = 100
Described = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Machine:
    """One that runs. `number` counts those of its type; the addresses are its public and its private one.

    `system` is what AWS calls the system of its image for billing: `Linux/UNIX`.
    """

    id: str
    type: str
    number: int
    zone: str
    public: str | None
    private: str
    system: str

    @property
    def name(self) -> str:
        """What records call it: `c4.xlarge-0`."""
        return f"{self.type}-{self.number}"


def running(
    account: Account, file: RentalFile, patience: Patience, pause: Callable[[float], None]
) -> list[Described]:
    """The machines as AWS describes them, once all run. `pause` may raise, to stop waiting.

    Raises HostError that names each machine that does not run, and why.
    """
    deadline = time.monotonic() + patience.start
    while True:
        found = {one["InstanceId"]: one for one in _look(account, file.known())}
        states = {ident: found[ident]["State"]["Name"] if ident in found else "" for ident in file.known()}
        if gone := [ident for ident, state in states.items() if state not in ("", "pending", "running")]:
            raise HostError("\n  ".join(["machines ended at once:", *(_ended(found[one]) for one in gone)]))
        if set(states.values()) == {"running"}:
            return list(found.values())
        if time.monotonic() > deadline:
            raise _late(states, patience.start)
        pause(patience.poll)


def machine(described: Described, number: int, image: Described) -> Machine:
    """What matters of it; `number` counts those of its type."""
    return Machine(
        described["InstanceId"],
        described["InstanceType"],
        number,
        described.get("Placement", {}).get("AvailabilityZone", ""),
        described.get("PublicIpAddress") or None,
        described["PrivateIpAddress"],
        image.get("PlatformDetails", ""),
    )


def fate(account: Account, ident: str) -> str | None:
    """Why a machine does not run any more; None where it does, or nobody knows."""
    try:
        found = list(_look(account, [ident]))
    except CloudError:
        return None
    over = [one for one in found if one["State"]["Name"] not in ("pending", "running")]
    return f"AWS says that its machine has ended: {_ended(over[0])}" if over else None


def _look(account: Account, ids: list[str]) -> Iterator[Described]:
    # By filter: an id that AWS's lists do not have yet would be an error otherwise.
    for start in range(0, len(ids), _AT_ONCE):
        asked = [{"Name": "instance-id", "Values": ids[start : start + _AT_ONCE]}]
        for page in account.pages("describe_instances", "Reservations", Filters=asked):
            yield from page["Instances"]


def _late(states: Mapping[str, str], seconds: float) -> HostError:
    waiting = ", ".join(ident for ident, state in states.items() if state != "running")
    hint = "`pending_within` gives them more time; AWS's console may say why they wait"
    return HostError(f"{waiting}: not running after {seconds:g} s", hint=hint)


def _ended(described: Described) -> str:
    why = described.get("StateReason", {}).get("Message") or "AWS does not say why"
    return f"{described['InstanceId']} ({described['InstanceType']}): {why}"
