"""Give back what dead controllers rented."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.release import Patience, release
from steelyard.provision.ec2.rental import Rental, RentalFile


@dataclass
class CleanResult:
    """The machines that were ended, by run; `problems` says what could not be given back, and why."""

    ended: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def clean_leases(is_dead: Callable[[Rental], bool], patience: Patience | None = None) -> CleanResult:
    """End the machines of every dead run of this user; those of a live one are never touched.

    What fails is reported, never raised. Where nothing was ever rented, AWS is not asked.
    """
    result = CleanResult()

    def end(file: RentalFile) -> None:
        with closing(AwsAccount(file.lease.region, file.lease.profile)) as account:
            ended = release(account, file, patience or Patience())
        result.ended.setdefault(file.lease.run, []).extend(ended)

    result.problems += RentalFile.give_back(is_dead, end)
    return result
