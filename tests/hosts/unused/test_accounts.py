"""Which user id a server gets: one that no account, no process and no range of others' has."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from pathlib import Path

import pytest

from steelyard.hosts.unused.accounts import (
    CHOOSE,
    RANGES,
    draw_accounts,
    find_account,
    gives_up_root,
    is_unnamed,
    split_prefix,
    write_prefix,
)
from steelyard.model.command import Command


def chosen(*edits: tuple[str, str], **env: str) -> subprocess.CompletedProcess[str]:
    """What the words of shell choose, with files in the place of the system's."""
    script = CHOOSE
    for old, new in edits:
        assert old in script
        script = script.replace(old, new)
    (draw,) = draw_accounts(1)
    argv = ("sh", "-eu", "-c", f'{script}\necho "$account"')
    variables = {**os.environ, **draw, **env}
    return subprocess.run(argv, env=variables, capture_output=True, text=True, check=False)


def test_it_is_of_the_range_and_another_each_time() -> None:
    ids = {int(chosen().stdout) for _ in range(5)}
    assert len(ids) == 5
    assert all(is_unnamed(found) for found in ids)
    assert not any(is_unnamed(entry.pw_uid) for entry in pwd.getpwall())


def test_hosts_that_share_a_machine_get_others_although_no_process_shows_them() -> None:
    found = set()
    for draw in draw_accounts(8):
        argv = ("sh", "-eu", "-c", f'{CHOOSE}\necho "$account"')
        done = subprocess.run(argv, env={**os.environ, **draw}, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 8


@pytest.mark.parametrize(
    ("lines", "low"),
    [
        ("0 0 4294967295", RANGES[0][0]),
        ("0 1000 1\n1 100000 65535", RANGES[1][0]),
        ("0 1000 65536", RANGES[1][0]),
    ],
)
def test_it_lies_within_what_a_user_namespace_has(tmp_path: Path, lines: str, low: int) -> None:
    (tmp_path / "map").write_text(lines + "\n")
    span = dict(RANGES)[low]
    edits = [(f"/proc/self/{kind}_map", str(tmp_path / "map")) for kind in ("uid", "gid")]
    assert int(chosen(*edits).stdout) in range(low, low + span)


def test_where_there_is_none_the_error_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "map").write_text("0 1000 1\n")
    done = chosen(*((f"/proc/self/{kind}_map", str(tmp_path / "map")) for kind in ("uid", "gid")))
    assert done.returncode == 1
    assert re.search(
        r"no user id is free here .* run Steelyard as a user other than root$", done.stderr.strip()
    )


@pytest.mark.parametrize("taken", ["account", "subuid", "process"])
def test_one_that_somebody_has_is_passed_over(tmp_path: Path, taken: str) -> None:
    low, _ = RANGES[0]
    draw = {"DRAW": "0", "PLACE": "0", "PLACES": "1"}
    (tmp_path / "passwd").write_text(f"x:x:{low}:{low}::/:/bin/sh\n")
    (tmp_path / "subuid").write_text(f"alice:{low}:7\n")
    (tmp_path / "7").mkdir()
    (tmp_path / "7/status").write_text(f"Name:\tx\nUid:\t0\t{low}\t0\t0\nGid:\t0\t0\t0\t0\n")
    edit, expected = {
        "account": (("/etc/passwd /etc/group", str(tmp_path / "passwd")), low + 1),
        "subuid": (("/etc/subuid /etc/subgid", str(tmp_path / "subuid")), low + 7),
        "process": (("/proc/[0-9]*/status", f"{tmp_path}/[0-9]*/status"), low + 1),
    }[taken]
    assert int(chosen(edit, **draw).stdout) == expected


def test_the_words_that_give_up_root_are_found_behind_others() -> None:
    words = write_prefix("4711")
    command = Command(("unshare", "--ipc", *words, "postgres", "-D", "data"))
    assert split_prefix(command.argv) == (("unshare", "--ipc", *words), ("postgres", "-D", "data"))
    assert find_account(words) == "4711"
    assert gives_up_root(command)
    assert split_prefix(("setpriv", "--pdeathsig", "KILL", "x")) == (
        (),
        ("setpriv", "--pdeathsig", "KILL", "x"),
    )
    assert not gives_up_root(Command(("setpriv", "--help")))
    assert (find_account(()), split_prefix(("setpriv",))) == ("", ((), ("setpriv",)))
