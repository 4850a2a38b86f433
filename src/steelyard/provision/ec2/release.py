"""Give back all that was rented. Safe to do again, and to do when only half of it was ever there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard.errors import HostError
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.errors import CloudError
from steelyard.provision.ec2.order import tag_filter
from steelyard.provision.ec2.rental import GROUP, KEY_PAIR, RentalFile

_OVER = ("terminated", "shutting-down")
_BATCH = 100


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. `poll` lies between two looks; `start` is for machines to run, `end` for them to be gone.

    What was asked for shows up in AWS's lists within `appear`: EC2 answers from copies that lag behind.
    """

    poll: float = 3.0
    start: float = 300.0
    end: float = 600.0
    appear: float = 180.0


def release(account: AwsAccount, file: RentalFile, patience: Patience) -> list[str]:
    """End the machines, then remove the key pair and the security group; return the ids of the machines.

    The file goes when nothing is left. Raises HostError that says what may still be there, and costs money.
    """
    if not file.requests:
        file.remove()  # nothing was asked for
        return []
    problems: list[str] = []
    ended: list[str] = []
    _collect_problem(problems, lambda: ended.extend(_end_machines(account, file, patience)))
    _collect_problem(problems, lambda: _remove_key_pair(account, file, patience))
    _collect_problem(problems, lambda: _remove_group(account, file, ended, patience))
    if problems:
        raise _explain_leftovers(file, problems)
    file.remove()
    return ended


def _collect_problem(problems: list[str], action: Callable[[], object]) -> None:
    """Do it; what fails must not keep the rest from being done."""
    try:
        action()
    except HostError as error:
        problems.append(error.message)


def _explain_leftovers(file: RentalFile, problems: list[str]) -> HostError:
    rental = file.lease
    machines = ", ".join(file.machine_ids()) or f"those tagged steelyard:rental={rental.id}"
    lines = "".join(f"\n  {problem}" for problem in problems)
    return HostError(
        f"not everything that run {rental.run} rented in {rental.region} could be released "
        f"({machines}):{lines}",
        hint="running machines cost money: try `steelyard clean`, or terminate them in the AWS console",
    )


def _end_machines(account: AwsAccount, file: RentalFile, patience: Patience) -> list[str]:
    idents = dict.fromkeys([*file.machine_ids(), *_await_machines(account, file, patience)])
    every = list(idents)
    for start in range(0, len(every), _BATCH):
        _terminate(account, every[start : start + _BATCH])
    return every


def _await_machines(account: AwsAccount, file: RentalFile, patience: Patience) -> list[str]:
    """The machines that bear the tag; where a request was never answered, look until its have shown up."""
    while True:
        machines = _find_machines(account, file)
        if not _is_incomplete(file, machines, patience):
            return [ident for ident, _ in machines]
        time.sleep(patience.poll)


def _find_machines(account: AwsAccount, file: RentalFile) -> list[tuple[str, str]]:
    """Id and type of what runs, or is about to."""
    pages = account.list_entries("describe_instances", "Reservations", Filters=[tag_filter(file.lease.id)])
    every = (machine for page in pages for machine in page["Instances"])
    return [(one["InstanceId"], one["InstanceType"]) for one in every if one["State"]["Name"] not in _OVER]


def _is_incomplete(file: RentalFile, found: list[tuple[str, str]], patience: Patience) -> bool:
    there = [kind for _, kind in found]
    asked = file.machines().items()
    return any(there.count(kind) < one.count and one.is_pending(patience.appear) for kind, one in asked)


def _terminate(account: AwsAccount, machines: list[str]) -> None:
    """End them all; those that AWS does not know any more are gone."""
    left = machines
    while left:
        try:
            account.ask("terminate_instances", InstanceIds=left)
        except CloudError as error:
            if error.code != "InvalidInstanceID.NotFound":
                raise
            unknown = [one for one in left if one in error.message]
            left = [one for one in left if one not in unknown] if unknown else []
        else:
            return


def _await_ids(file: RentalFile, kind: str, patience: Patience, look: Callable[[], list[str]]) -> list[str]:
    """The id of the key pair or the group; where the request was not answered, `look` until it shows up."""
    request = file.requests.get(kind)
    if request is None:
        return []
    ids = list(request.ids or ()) or look()
    while not ids and request.is_pending(patience.appear):
        time.sleep(patience.poll)
        ids = look()
    return ids


def _remove_key_pair(account: AwsAccount, file: RentalFile, patience: Patience) -> None:
    asked: dict[str, Any] = {"Filters": [tag_filter(file.lease.id)]}

    def look() -> list[str]:
        return [one["KeyPairId"] for one in account.ask("describe_key_pairs", **asked)["KeyPairs"]]

    if _await_ids(file, KEY_PAIR, patience, look):
        account.ask("delete_key_pair", KeyName=file.lease.name)


def _remove_group(account: AwsAccount, file: RentalFile, machines: list[str], patience: Patience) -> None:
    """Remove the security group, as soon as the last machine in it is really gone."""
    asked: dict[str, Any] = {"Filters": [tag_filter(file.lease.id)]}

    def look() -> list[str]:
        return [one["GroupId"] for one in account.ask("describe_security_groups", **asked)["SecurityGroups"]]

    deadline = time.monotonic() + patience.end
    for group in _await_ids(file, GROUP, patience, look):
        while not _try_delete_group(account, group):
            if time.monotonic() > deadline:
                who = f"{', '.join(machines)} had" if machines else "its machines had"
                raise HostError(f"security group {group}: {who} not terminated within {patience.end:g} s")
            time.sleep(patience.poll)


def _try_delete_group(account: AwsAccount, group: str) -> bool:
    try:
        account.ask("delete_security_group", GroupId=group)
    except CloudError as error:
        if error.code == "InvalidGroup.NotFound":
            return True
        if error.code in ("DependencyViolation", "InvalidGroup.InUse"):
            return False
        raise
    return True
