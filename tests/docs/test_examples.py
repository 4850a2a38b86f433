"""Every experiment in docs and examples is checked, and the short ones run, so that none goes out of date."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pages import PAGES, ROOT, blocks, show_path
from steelyard.cli.app import group, run
from steelyard.model.space import cells
from steelyard.spec.bind import bind_all, list_tools
from steelyard.spec.load import load, load_source
from steelyard.spec.sites import resolve
from steelyard.spec.yaml.source import read
from steelyard.stats.condition import AGAIN
from steelyard.tools.find import find_missing

PACKAGE = ROOT / "examples" / "plugin"  # its plug-ins are not installed here: see e2e/test_plugin_package.py
FILES = sorted(
    path
    for path in (ROOT / "examples").rglob("*.yaml")
    if not path.is_symlink() and not path.is_relative_to(PACKAGE)
)
BLOCKS = [
    pytest.param(block, id=f"{show_path(page)}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "yaml"))
    if show_path(page) != "docs/reference/keys.md"  # pieces of files, which tests/spec/test_keys.py completes
    if "openssl_speed" not in block  # a workload that test_contributing.py makes
    if "./my_server.py" not in block  # plug-ins that test_plugins.py makes
    if not block.startswith(("# sites.yaml", "# suite.yaml", "# ."))  # no experiments
]
SITES = [
    pytest.param(block, id=f"{show_path(page)}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "yaml"))
    if block.startswith("# sites.yaml")
]


HEADER = re.compile(r"^#\s+steelyard (.+?)(?:\s{2,}.*|\s+&&.*|;.*)?$", re.MULTILINE)
COMMANDS = [
    pytest.param(shlex.split(line), id=line)
    for path in FILES
    for line in dict.fromkeys(HEADER.findall(path.read_text()))
]

MINUTE = 60.0
SHORT = {
    "checkpoint/coordinated.yaml": (),
    "checkpoint/memory.yaml": (),
    "climate/dumps.yaml": (),
    "climate/listing.yaml": (),
    "climate/netcdf.yaml": (),
    "databases/memcached.yaml": (),
    "failing.yaml": (),
    "fermilab/gensim.yaml": (),
    "fermilab/streams.yaml": ("--site", "netns:2:100MB/s"),
    "hello.yaml": (),
    "lockstep.yaml": (),
    "published/fermilab-2015/figure-1.yaml": (),
    "published/fermilab-2015/table-1.yaml": (),
    "published/xtreemos-2010/figure-4.9.yaml": (),
    "published/xtreemos-2010/table-4.3.yaml": (),
    "published/xtreemos-2010/table-4.4.yaml": (),
    "ska.yaml": (),
    "ska1-outstanding.yaml": (),
    "traces/mpi.yaml": (),
    "traces/rank-file-systems.yaml": (),
    "traces/replay-postgresql.yaml": (),
}
"""Examples that take about a minute where nothing else runs; bare, but for one that limits its network."""
FAILING = {"failing.yaml": 8}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_example_is_sound_in_every_cell(path):
    experiment, _ = load(path)
    for cell in cells(experiment, seed=1):
        assert bind_all(experiment, cell)


@pytest.mark.parametrize("block", BLOCKS)
def test_block_in_the_docs_is_sound(block):
    load_source(read(block, "block"))


@pytest.mark.parametrize("block", SITES)
def test_sites_in_the_docs_are_sound(block):
    Path("sites.yaml").write_text(block)
    for name in read(block, "block").value:
        assert resolve(name).site


def test_the_seven_published_charts_are_there():
    folder = ROOT / "examples" / "published" / "bigstorage-2017"
    tagged = {load(path)[0].tags["published"] for path in folder.glob("*.yaml")}
    assert tagged == {f"bigstorage-2017/figure-ska{number}" for number in (1, 2, 4, 5, 6, 8, 9)}
    listed = set(
        re.findall(r"^\| (bigstorage-2017/figure-ska\d) ", (folder / "README.md").read_text(), re.MULTILINE)
    )
    assert listed == tagged


def test_published_ids_are_those_of_the_shared_list():
    shared = ROOT.parent / "shared" / "published.csv"
    if not shared.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with shared.open(newline="") as file:
        known = {row["id"] for row in csv.DictReader(file)}
    assert {name for path in FILES for name in str(load(path)[0].tags.get("published", "")).split()} <= known


def steelyard(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "steelyard", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_what_is_planned_for_under_a_minute_is_listed_as_short(path, capsys):
    name = str(path.relative_to(ROOT / "examples"))
    assert run(("plan", str(path), "--json")) == 0
    planned = json.loads(capsys.readouterr().out)
    if seconds := planned["seconds"]:
        undisturbed = seconds[1] / (AGAIN if planned["disturbed_are_made_again"] else 1)
        assert (name in SHORT) == (undisturbed <= MINUTE) or path.parent.name == "everyday"


def needed(experiment):
    """Skip where something that the experiment uses is not installed."""
    for tool in find_missing(list_tools(experiment, cells(experiment, seed=1))):
        pytest.skip(f"{tool.name} is not installed")


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_of_a_header_is_understood(words, capsys, monkeypatch):
    """What runs is planned, what installs only says how; what needs a result of it is read."""
    monkeypatch.chdir(ROOT)
    before = {"run": ["plan"], "plan": ["plan"], "install": ["install", "--dry-run"]}.get(words[0])
    if words[0] == "install" and "--site" in words:
        words = words[: words.index("--site")]  # nobody is at home there
    if before:
        assert run((*before, *words[1:])) == 0, capsys.readouterr().err
    else:
        command = group.get_command(click.Context(group), words[0])
        assert command, words
        command.make_context(words[0], words[1:])


@pytest.mark.full
@pytest.mark.parametrize(("name", "site"), SHORT.items())
def test_a_short_example_runs(name, site, enterable_scratch):
    """As a user would run it, on a machine that others use, too: their disturbance decides no requirement."""
    path = ROOT / "examples" / name
    if site and os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    needed(load(path)[0])
    words = ("--undecided", "pass", "--disturbed", "include")
    done = steelyard("run", "-q", str(path), *site, *words)
    assert done.returncode in (0, 1), done.stderr  # 1: this machine does not meet what it requires
    assert Path(done.stdout.splitlines()[-1]).is_file()
    (found,) = json.loads(steelyard("list", "--json").stdout)
    assert (found["state"], found["failed"]) == ("complete", FAILING.get(name, 0)), done.stderr
