"""Who but us could replace what lies at a path."""

from __future__ import annotations

import grp
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from accounts import Account
from steelyard.hosts.minder.ownership import find_untrusted_entry, trust_list, trusted_directories

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")


def stranger(path: Path, *, shared: bool = False) -> str | None:
    return find_untrusted_entry(str(path), shared=shared)


def opened(path: Path, mode: int) -> Path:
    path.mkdir(exist_ok=True)
    path.chmod(mode)
    return path


def test_what_we_alone_may_write_to_is_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o644)
    assert stranger(tmp_path) is None
    assert stranger(tmp_path / "file") is None
    assert stranger(tmp_path / "not" / "there") is None


def test_one_open_directory_on_the_way_is_enough(tmp_path: Path) -> None:
    open_ = opened(tmp_path / "open", 0o777)
    opened(open_ / "ours", 0o700)
    for path in (open_, open_ / "ours", open_ / "ours" / "deeper", open_ / "ours" / ".." / "x"):
        assert stranger(path) == f"{open_}: others may write to it"


def test_a_sticky_directory_is_open_to_new_entries_alone(tmp_path: Path) -> None:
    sticky = opened(tmp_path / "sticky", 0o1777)
    assert stranger(sticky) == f"{sticky}: others may write to it"
    assert stranger(sticky, shared=True) is None
    assert stranger(opened(sticky / "ours", 0o700)) is None


def test_a_file_that_others_may_write_to_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o666)
    assert stranger(tmp_path / "file") == f"{tmp_path}/file: others may write to it"
    assert stranger(tmp_path / "file", shared=True), "only a directory can be sticky"


def test_links_are_followed_to_what_they_lead_through(tmp_path: Path) -> None:
    open_ = opened(tmp_path / "open", 0o777)
    (open_ / "target").mkdir()
    (tmp_path / "relative").symlink_to("open/target")
    (tmp_path / "absolute").symlink_to(open_ / "target")
    (open_ / "back").symlink_to(tmp_path)
    for path in (tmp_path / "relative", tmp_path / "absolute", open_ / "back" / "file"):
        assert stranger(path) == f"{open_}: others may write to it"


def test_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        stranger(tmp_path / "a")


@root_only
def test_what_belongs_to_somebody_else_is_not_ours(tmp_path: Path, mallory: Account) -> None:
    theirs = mallory.owns(tmp_path / "theirs")
    opened(theirs / "ours", 0o700)
    assert stranger(theirs / "ours") == f"{theirs}: it belongs to {mallory.name}"
    sticky = opened(tmp_path / "sticky", 0o1777)
    (sticky / "link").symlink_to(tmp_path)
    os.chown(sticky / "link", mallory.uid, mallory.gid, follow_symlinks=False)
    assert stranger(sticky / "link" / "file") == f"{sticky}/link: it belongs to {mallory.name}"


def run_as(account: Account, path: Path) -> str:
    """What an account itself says of a path."""
    code = (
        "import sys; from steelyard.hosts.minder.ownership import *; print(find_untrusted_entry(sys.argv[1]))"
    )
    said = account.run(*account.python, "-c", code, str(path))
    assert said.returncode == 0, said.stderr
    return str(said.stdout.strip())


@root_only
def test_a_group_without_other_members_is_nobody(alice: Account, mallory: Account) -> None:
    place = alice.owns(alice.home / "place", mode=0o775)
    assert run_as(alice, place) == "None", "a group of her own"
    subprocess.run(["gpasswd", "--add", mallory.name, grp.getgrgid(alice.gid).gr_name], check=True)
    try:
        assert run_as(alice, place) == f"{place}: others may write to it"
    finally:
        subprocess.run(["gpasswd", "--delete", mallory.name, grp.getgrgid(alice.gid).gr_name], check=True)
    os.chown(place, alice.uid, mallory.gid)
    assert run_as(alice, place) == f"{place}: others may write to it", "it is somebody's own group"
    os.chown(place, alice.uid, 0)
    assert run_as(alice, place) == "None", "root's own"


@pytest.mark.skipif(shutil.which("setfacl") is None, reason="setfacl is not installed")
def test_an_access_list_may_let_others_in(tmp_path: Path) -> None:
    place = opened(tmp_path / "place", 0o700)
    if subprocess.run(["setfacl", "-m", "u:nobody:rwx", str(place)], check=False).returncode:
        pytest.skip("this file system has no access lists")
    assert stranger(place) == f"{place}: others may write to it"


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The list of trusted directories of this test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = Path(trust_list())
    path.parent.mkdir(parents=True)
    return path


def test_what_lies_in_a_trusted_directory_passes(tmp_path: Path, listed: Path) -> None:
    open_ = opened(tmp_path / "open", 0o777)
    opened(open_ / "project", 0o777)
    listed.write_text(f"{open_}/project\n")
    assert stranger(open_ / "project") is None
    assert stranger(open_ / "project" / "deep" / "file") is None
    assert stranger(open_ / "projects"), "another one beside it"
    (open_ / "link").symlink_to("project")
    assert stranger(open_ / "link") is None


def test_a_trusted_directory_vouches_for_no_other_way_to_it(tmp_path: Path, listed: Path) -> None:
    listed.write_text(f"{opened(tmp_path / 'trusted', 0o777)}\n")
    elsewhere = opened(tmp_path / "elsewhere", 0o777)
    (elsewhere / "link").symlink_to(tmp_path / "trusted")
    assert stranger(elsewhere / "link") == f"{elsewhere}: others may write to it"


@pytest.mark.parametrize("how", ["open", "a link"])
def test_a_list_that_others_could_have_written_does_not_count(listed: Path, how: str) -> None:
    if how == "open":
        listed.write_text("/tmp\n")
        listed.chmod(0o666)
    else:
        (listed.parent / "elsewhere").write_text("/tmp\n")
        listed.symlink_to(listed.parent / "elsewhere")
    assert trusted_directories() == []


@root_only
def test_a_list_of_somebody_else_does_not_count(listed: Path, mallory: Account) -> None:
    mallory.owns(listed, "/tmp\n")
    assert trusted_directories() == []
