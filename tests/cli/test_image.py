"""`steelyard image`: images are brought to hosts, listed and removed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from steelyard.cli.app import run as call_steelyard
from steelyard.testing.contract.environments import make_image

FILE = """\
experiment: x
images: {base: {archive: base.tar}}
workload: {use: command, run: [cat, /mark], wrap: {in: bubblewrap, image: base}}
repeat: 1
disturbed: include
"""


@pytest.fixture
def place(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with an image beside it, and a cache of our own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_place / "cache"))
    make_image(own_place / "root")
    subprocess.run(["tar", "-C", "root", "-cf", "base.tar", "."], cwd=own_place, check=True)
    (own_place / "x.yaml").write_text(FILE)
    return own_place


def test_an_image_is_pushed_listed_and_removed(place, capsys):
    assert call_steelyard(("image", "push", "x.yaml")) == 0
    assert "local: making image base of base.tar" in capsys.readouterr().out
    assert call_steelyard(("image", "push", "x.yaml", "--json")) == 0
    [pushed] = json.loads(capsys.readouterr().out)
    assert call_steelyard(("image", "list", "--json")) == 0
    assert json.loads(capsys.readouterr().out) == [pushed]
    assert (Path(pushed["root"]) / "mark").is_file()
    assert call_steelyard(("image", "list")) == 0
    digest, host, *size, what, root = capsys.readouterr().out.split()
    assert pushed["digest"].startswith(digest)
    assert (host, what, root) == ("local", "base.tar", pushed["root"])
    assert size
    assert call_steelyard(("image", "rm", digest)) == 0
    assert not Path(pushed["root"]).exists()


def test_a_run_uses_what_was_pushed(place, capsys):
    assert call_steelyard(("image", "push", "x.yaml")) == 0
    assert call_steelyard(("run", "-q", "x.yaml")) == 0
    [run] = (place / "store/runs").iterdir()
    lines = map(json.loads, (run / "journal.ndjson").read_text().splitlines())
    [ready] = [line for line in lines if line["kind"] == "image-ready"]
    assert (ready["cached"], ready["what"]) == (True, "base.tar")
    assert re.search(r"base on local.*base\.tar, .*iB, made by an earlier run", write_report(place))


def test_the_report_says_how_long_an_image_took(place):
    assert call_steelyard(("run", "-q", "x.yaml")) == 0
    assert re.search(r"base on local.*base\.tar, .*iB, made in [\d.]+ m?s", write_report(place))


def write_report(place: Path) -> str:
    assert call_steelyard(("report", "-o", "last.md", "last")) == 0
    return (place / "last.md").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("push", "none.yaml"), "none.yaml describes no images"),
        (("push", "lost.yaml"), "lost.yaml:2:26"),
        (("push", "both.yaml"), "give either `suite: bookworm` or `archive: image.tar`"),
        (("rm", "123"), "'123' is too short"),
        (("rm", "12345"), "no image begins with 12345"),
        (("list", "--site", "slurm:2"), "the hosts of site slurm:2 exist only during a run"),
    ],
)
def test_mistakes_are_told(place, capsys, words, says):
    (place / "none.yaml").write_text("experiment: x\nworkload: {use: command, run: ['true']}\n")
    (place / "lost.yaml").write_text(FILE.replace("base.tar", "lost.tar"))
    (place / "both.yaml").write_text(FILE.replace("archive:", "suite: bookworm, archive:"))
    assert call_steelyard(("image", *words)) == 2
    assert says in capsys.readouterr().err
