"""Ids of users and groups that nobody has: a server that root starts runs under one of its own.

No account is made. `CHOOSE` is shell that leaves the id in `$account`, of the variables of `draw_accounts`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from itertools import pairwise

from steelyard.model.command import Command

_CHANGER, _ACCOUNT = "setpriv", "--reuid="
# Ids that nothing else gives out, by "Users, Groups, UIDs and GIDs on systemd Systems": above those of
# containers, of /etc/subuid and of directory services (SSSD and FreeIPA end at 2,000,200,000), and below
# 2^31, which some programs take for negative. A container often has 65,536 ids: there the gap below those of
# systemd's dynamic users.
RANGES = ((2_001_000_000, 146_000_000), (60_578, 606))
CHOOSE = r"""
has() {  # a map of ids, and a range: whether one of its lines covers that
    while read -r inside _ count; do
        [ "$inside" -gt "$2" ] || [ $((inside + count)) -lt $(($2 + $3)) ] || return 0
    done < "$1"
    return 1
}
is_free() {
    ! getent passwd "$1" >/dev/null 2>&1 && ! getent group "$1" >/dev/null 2>&1 || return 1
    ! grep -qs ":$1:" /etc/passwd /etc/group || return 1
    for given in /etc/subuid /etc/subgid; do
        [ -r $given ] || continue
        while IFS=: read -r _ start count; do
            [ "$1" -lt "${start:-0}" ] || [ "$1" -ge $((start + ${count:-0})) ] || return 1
        done < $given
    done
    ! cat /proc/[0-9]*/status 2>/dev/null | grep -Eq "^(Uid|Gid|Groups):(.*[[:space:]])?$1([[:space:]]|$)"
}
account=
for range in $RANGES; do
    low=${range%:*} span=${range#*:}
    has /proc/self/uid_map "$low" "$span" && has /proc/self/gid_map "$low" "$span" || continue
    turn=0
    while [ $turn -lt 32 ]; do
        try=$((low + (DRAW + PLACE + turn * PLACES) % span)); turn=$((turn + 1))
        if is_free $try; then account=$try; break 2; fi
    done
done
[ "$account" ] || {
    echo "no user id is free here for a server, which must not run as root: give this user namespace" \
        "the ids $((low + span - 1)) down to $low, or run Steelyard as a user other than root" >&2
    exit 1
}
"""


def write_prefix(account: str) -> tuple[str, ...]:
    """Words before a command that give up root for good."""
    return (_CHANGER, f"{_ACCOUNT}{account}", f"--regid={account}", "--clear-groups", "--no-new-privs")


def split_prefix(argv: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A command up to the words of `write_prefix`, whatever stands before them, and what is behind them."""
    pairs = enumerate(pairwise(argv))
    starts = (at for at, (word, after) in pairs if word == _CHANGER and after.startswith(_ACCOUNT))
    end = next((at + len(write_prefix("")) for at in starts), 0)
    return argv[:end], argv[end:]


def find_account(prefix: tuple[str, ...]) -> str:
    """The account that such words change to; empty for none."""
    return next((word.removeprefix(_ACCOUNT) for word in prefix if word.startswith(_ACCOUNT)), "")


def gives_up_root(command: Command) -> bool:
    """Whether it has the words of `write_prefix`."""
    return bool(split_prefix(command.argv)[0])


def is_unnamed(uid: int) -> bool:
    """Whether it is one of the ids that servers are given."""
    return any(uid in range(low, low + span) for low, span in RANGES)


def draw_accounts(hosts: int) -> Iterator[Mapping[str, str]]:
    """Variables for each of so many hosts.

    They may share a machine, where no process shows yet which ids the others take: each tries its own.
    """
    ranges = " ".join(f"{low}:{span}" for low, span in RANGES)
    common = {"RANGES": ranges, "DRAW": str(secrets.randbelow(2**40)), "PLACES": str(hosts)}
    return ({**common, "PLACE": str(place)} for place in range(hosts))
