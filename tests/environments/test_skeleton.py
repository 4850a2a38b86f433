"""A root made of an image's parts: what is mounted below needs no place in the image."""

from __future__ import annotations

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from steelyard.environments.kit.skeleton import list_arguments, write_loop

SAY = ("sh", "-c", write_loop('printf "%s\\n" "$name"') + 'printf "[%s]\\n" "$@"', "sh")


def list_parts(image, mounts, *others, given=()):
    words = (*SAY, *list_arguments(str(image), mounts, *others), *given)
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def test_only_directories_with_mounts_below_are_taken_apart(tmp_path):
    for name in ("usr/bin", "var/lib", "var/tmp/old", "home/ada", "tmp/x", "proc"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".hidden").touch()
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "a b").mkdir()
    found = list_parts(tmp_path, ("/var/tmp/a b", "/srv/new"), "/proc", "/tmp", given=("x y", ""))
    assert sorted(found[:-2]) == ["/.hidden", "/a b", "/bin", "/home", "/usr", "/var/lib", "/var/tmp/old"]
    assert found[-2:] == ["[x y]", "[]"]


def test_what_is_below_another_place_does_not_open_it(tmp_path):
    (tmp_path / "tmp/x").mkdir(parents=True)
    assert list_parts(tmp_path, ("/tmp/scratch",), "/tmp", given=("end",)) == ["[end]"]


@given(st.lists(st.text("ab/ *?[]$`'\"\\", min_size=1, max_size=8)))
def test_any_path_may_be_mounted(paths):
    mounts = tuple("/" + path.strip("/") for path in paths)
    words = list_arguments("/nowhere", mounts)
    assert words[3] == ""
    assert int(words[2]) == len(words) - 3
