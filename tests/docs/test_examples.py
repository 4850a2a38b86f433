"""Every experiment in docs and examples is read and checked, so that none goes out of date."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from steelyard.model.space import cells
from steelyard.spec.bind import bound_all
from steelyard.spec.load import checked_source, load
from steelyard.spec.sites import resolve
from steelyard.spec.source import read

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples").rglob("*.yaml"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")])
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text()))
    if "openssl_speed" not in block  # a workload that test_contributing.py makes
    if not block.startswith("# sites.yaml")
]
SITES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text()))
    if block.startswith("# sites.yaml")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_example_is_sound_in_every_cell(path):
    experiment, _ = load(path)
    for cell in cells(experiment, seed=1):
        assert bound_all(experiment, cell)


@pytest.mark.parametrize("block", BLOCKS)
def test_block_in_the_docs_is_sound(block):
    checked_source(read(block, "block"))


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
    assert {load(path)[0].tags.get("published") for path in FILES} - {None} <= known
