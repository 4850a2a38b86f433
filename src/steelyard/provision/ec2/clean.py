"""Give back what dead controllers rented."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from steelyard.errors import HostError
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.release import Patience, release
from steelyard.provision.ec2.rental import SUFFIX, Rental, RentalFile
from steelyard.provision.lease_files import leases_folder


@dataclass
class CleanResult:
    """The machines that were ended, by run; `problems` says what could not be given back, and why."""

    ended: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def clean_leases(is_dead: Callable[[Rental], bool], patience: Patience | None = None) -> CleanResult:
    """End the machines of every dead run of this user; those of a live one are never touched.

    Two things must both say that it is dead: its file can be locked, which its controller would hold, and
    `is_dead`. What fails is reported, never raised, and found again the next time. Where nothing was ever
    rented this looks at one directory, and asks nobody.
    """
    result = CleanResult()
    for path in sorted(leases_folder().glob(f"*{SUFFIX}")):
        try:
            file = RentalFile.from_abandoned(path)
            if file:
                with closing(file):
                    _clean(file, is_dead, patience or Patience(), result)
        except HostError as error:
            result.problems.append(str(error))
    return result


def _clean(
    file: RentalFile, is_dead: Callable[[Rental], bool], patience: Patience, found: CleanResult
) -> None:
    rental = file.rental
    if is_dead(rental):
        with closing(AwsAccount(rental.region, rental.profile)) as account:
            ended = release(account, file, patience)
        found.ended.setdefault(rental.run, []).extend(ended)
