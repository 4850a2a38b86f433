"""Wait until what was asked for runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import HostError
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.errors import CloudError
from steelyard.provision.ec2.release import Patience
from steelyard.provision.ec2.rental import RentalFile

_AT_ONCE = 100
Described = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RentedMachine:
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


def await_running(
    account: AwsAccount, file: RentalFile, patience: Patience, pause: Callable[[float], None]
) -> list[Described]:
    """The machines as AWS describes them, once all run. `pause` may raise, to stop waiting.

    Raises HostError that names each machine that does not run, and why.
    """
    deadline = time.monotonic() + patience.start
    while True:
        machines = {one["InstanceId"]: one for one in _describe(account, file.machine_ids())}
        states = {
            ident: machines[ident]["State"]["Name"] if ident in machines else ""
            for ident in file.machine_ids()
        }
        if gone := [ident for ident, state in states.items() if state not in ("", "pending", "running")]:
            raise HostError(
                "\n  ".join(["machines ended at once:", *(_explain_ended(machines[one]) for one in gone)])
            )
        if set(states.values()) == {"running"}:
            return list(machines.values())
        if time.monotonic() > deadline:
            raise _explain_timeout(states, patience.start)
        pause(patience.poll)


def make_machine(described: Described, number: int, image: Described) -> RentedMachine:
    """What matters of it; `number` counts those of its type."""
    return RentedMachine(
        described["InstanceId"],
        described["InstanceType"],
        number,
        described.get("Placement", {}).get("AvailabilityZone", ""),
        described.get("PublicIpAddress") or None,
        described["PrivateIpAddress"],
        image.get("PlatformDetails", ""),
    )


def explain_end(account: AwsAccount, ident: str) -> str | None:
    """Why a machine does not run any more; None where it does, or nobody knows."""
    try:
        machines = list(_describe(account, [ident]))
    except CloudError:
        return None
    over = [one for one in machines if one["State"]["Name"] not in ("pending", "running")]
    return f"AWS reports that its machine was terminated: {_explain_ended(over[0])}" if over else None


def _describe(account: AwsAccount, ids: list[str]) -> Iterator[Described]:
    # By filter: an id that AWS's lists do not have yet would be an error otherwise.
    for start in range(0, len(ids), _AT_ONCE):
        asked = [{"Name": "instance-id", "Values": ids[start : start + _AT_ONCE]}]
        for page in account.list_entries("describe_instances", "Reservations", Filters=asked):
            yield from page["Instances"]


def _explain_timeout(states: Mapping[str, str], seconds: float) -> HostError:
    waiting = ", ".join(ident for ident, state in states.items() if state != "running")
    hint = "raise `pending_within` to give them more time; the AWS console may show why they wait"
    return HostError(f"{waiting}: not running after {seconds:g} s", hint=hint)


def _explain_ended(described: Described) -> str:
    why = described.get("StateReason", {}).get("Message") or "AWS gives no reason"
    return f"{described['InstanceId']} ({described['InstanceType']}): {why}"
